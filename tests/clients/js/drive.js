// kafkajs, unmodified; arguments: the address, and more of its settings as JSON. A line of standard input is a JSON list,
// a method of its admin client (or readGroup) and what it takes; the answer is a line of JSON, {"ok": what it resolved to}
// or {"error": what it was rejected with}.
const readline = require("readline");
const { Kafka, logLevel } = require("kafkajs");

// The values of so many records, each committed. The member then stays in its group until the process ends.
function readGroup(kafka, group, topic, count) {
  const consumer = kafka.consumer({ groupId: group, sessionTimeout: 6000, heartbeatInterval: 500 });
  const values = [];
  return new Promise(async (resolve, reject) => {
    const eachMessage = async ({ partition, message }) => {
      if (values.length === count) await new Promise(() => {}); // what comes next is neither read nor committed
      values.push(message.value.toString());
      await consumer.commitOffsets([{ topic, partition, offset: String(Number(message.offset) + 1) }]);
      if (values.length === count) resolve(values);
    };
    try {
      await consumer.connect();
      await consumer.subscribe({ topics: [topic], fromBeginning: true });
      await consumer.run({ autoCommit: false, eachMessage });
    } catch (error) {
      reject(error);
    }
  });
}

async function main() {
  const [address, more] = process.argv.slice(2);
  const kafka = new Kafka({ clientId: "driven", brokers: [address], logLevel: logLevel.NOTHING, ...JSON.parse(more) });
  const admin = kafka.admin();
  await admin.connect();
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const [method, ...args] = JSON.parse(line);
    let answer;
    try {
      const called = method === "readGroup" ? readGroup(kafka, ...args) : admin[method](...args);
      answer = { ok: (await called) ?? null };
    } catch (error) {
      answer = { error: { name: error.name, message: error.message, type: error.type, errors: error.errors } };
    }
    process.stdout.write(JSON.stringify(answer) + "\n");
  }
  await admin.disconnect();
}

main().catch((error) => {
  process.stderr.write(`${error.stack}\n`);
  process.exit(1);
});
