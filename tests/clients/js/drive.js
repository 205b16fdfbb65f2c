// kafkajs, unmodified; arguments: the address, and more of its settings as JSON. A line of standard input is a JSON list,
// a method of its admin client (or one of our own) and what it takes; the answer is a line of JSON, {"ok": what it resolved to}
// or {"error": what it was rejected with}.
const readline = require("readline");
const { Kafka, logLevel } = require("kafkajs");
const transactions = require("./transactions.js");

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
  const own = { readGroup: (...args) => readGroup(kafka, ...args), ...transactions(kafka) };
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const [method, ...args] = JSON.parse(line);
    let answer;
    try {
      answer = { ok: (await (own[method] ?? admin[method])(...args)) ?? null };
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
