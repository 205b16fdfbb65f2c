// Transactions of kafkajs, by the words that `transacting.py` describes.
module.exports = (kafka) => {
  const producers = {};
  const transactions = {};

  async function open(name, transactionalId, transactionTimeout) {
    producers[name] = kafka.producer({ transactionalId, transactionTimeout, idempotent: true, maxInFlightRequests: 1 });
    await producers[name].connect();
  }

  async function send(name, topic, values) {
    transactions[name] = await producers[name].transaction();
    await transactions[name].send({ topic, messages: values.map((value) => ({ value, partition: 0 })) });
  }

  const end = (name, how) => transactions[name][how]();

  // Its member ends when there are messages for which `isEnough`.
  async function poll(groupId, topic, settings, isEnough, then = () => {}) {
    const consumer = kafka.consumer({ groupId, maxWaitTimeInMs: 100, ...settings });
    const messages = [];
    try {
      await consumer.connect();
      await consumer.subscribe({ topics: [topic], fromBeginning: true });
      await new Promise((resolve, reject) => {
        consumer.on("consumer.crash", ({ payload }) => reject(payload.error));
        const eachMessage = async ({ message }) => {
          if (isEnough(messages)) return;
          messages.push(message);
          if (isEnough(messages)) resolve();
        };
        consumer.run({ autoCommit: false, eachMessage }).catch(reject);
      });
      await then(messages);
    } finally {
      await consumer.disconnect();
    }
    return messages.map((message) => message.value.toString());
  }

  const pipe = (id, group, source, target, count, how) =>
    poll(group, source, {}, (messages) => messages.length === count, async (messages) => {
      await open(id, id, 60000);
      await send(id, target, messages.map((message) => `${id}:${message.value}`));
      const offset = String(Number(messages[count - 1].offset) + 1);
      const topics = [{ topic: source, partitions: [{ partition: 0, offset }] }];
      await transactions[id].sendOffsets({ consumerGroupId: group, topics });
      await end(id, how);
    });

  function read(topic, last, isolation) {
    const settings = { readUncommitted: isolation === "read_uncommitted" };
    return poll(`${isolation} of ${topic}`, topic, settings, (messages) => messages.at(-1)?.value.toString() === last);
  }

  return { open, send, end, pipe, read };
};
