// kafkajs, unmodified; arguments: the address, and more of its settings as JSON. A line of standard input is a JSON list,
// a method of its admin client and what it takes; the answer is a line of JSON, {"ok": what it resolved to} or {"error":
// what it was rejected with}.
const readline = require("readline");
const { Kafka, logLevel } = require("kafkajs");

async function main() {
  const [address, more] = process.argv.slice(2);
  const kafka = new Kafka({ clientId: "driven", brokers: [address], logLevel: logLevel.NOTHING, ...JSON.parse(more) });
  const admin = kafka.admin();
  await admin.connect();
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const [method, ...args] = JSON.parse(line);
    let answer;
    try {
      answer = { ok: (await admin[method](...args)) ?? null };
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
