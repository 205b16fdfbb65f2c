import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Transactions of Kafka's own producers and consumers. Argument: the address.
 *
 * <p>A line of standard input is a JSON list with the words that `transacting.py` describes; the answer is a line of JSON,
 * {"ok": the values, or none} or {"error": [its name, its message]}.
 */
public final class Transacting {
    private static final Map<String, KafkaProducer<String, String>> PRODUCERS = new HashMap<>();
    private static String bootstrap;

    public static void main(String[] arguments) throws Exception {
        bootstrap = arguments[0];
        ObjectMapper json = new ObjectMapper();
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            Map<String, Object> answer;
            try {
                answer = Map.of("ok", done(json.readTree(line)));
            } catch (KafkaException error) {
                answer = Map.of("error", List.of(error.getClass().getSimpleName(), String.valueOf(error.getMessage())));
            }
            System.out.println(json.writeValueAsString(answer));
        }
    }

    private static List<String> done(JsonNode words) throws Exception {
        String[] word = new String[words.size()];
        for (int place = 0; place < word.length; place++) {
            word[place] = words.get(place).asText();
        }
        switch (word[0]) {
            case "open" -> open(word[1], word[2], word[3]);
            case "send" -> send(word[1], word[2], values(words.get(3)));
            case "end" -> end(word[1], word[2]);
            case "pipe" -> pipe(word[1], word[2], word[3], word[4], words.get(5).asInt(), word[6]);
            default -> {
                return read(word[1], word[2], word[3]);
            }
        }
        return List.of();
    }

    private static List<String> values(JsonNode node) {
        List<String> values = new ArrayList<>();
        node.forEach(value -> values.add(value.asText()));
        return values;
    }

    private static void open(String name, String id, String timeoutMs) {
        Map<String, Object> properties =
            Map.of("bootstrap.servers", bootstrap, "transactional.id", id, "transaction.timeout.ms", timeoutMs);
        PRODUCERS.put(name, new KafkaProducer<>(properties, new StringSerializer(), new StringSerializer()));
        PRODUCERS.get(name).initTransactions();
    }

    private static void send(String name, String topic, List<String> values) throws Exception {
        KafkaProducer<String, String> producer = PRODUCERS.get(name);
        producer.beginTransaction();
        List<Future<?>> sent = new ArrayList<>();
        values.forEach(value -> sent.add(producer.send(new ProducerRecord<>(topic, 0, null, value))));
        producer.flush();
        for (Future<?> each : sent) {
            try {
                each.get();
            } catch (ExecutionException error) {
                throw (Exception) error.getCause();
            }
        }
    }

    private static void end(String name, String how) {
        if (how.equals("commit")) {
            PRODUCERS.get(name).commitTransaction();
        } else {
            PRODUCERS.get(name).abortTransaction();
        }
    }

    private static void pipe(String id, String group, String source, String target, int count, String how) throws Exception {
        try (KafkaConsumer<String, String> consumer = consumer(source, group, "read_committed", count)) {
            List<String> values = new ArrayList<>();
            while (values.size() < count) {
                for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(200))) {
                    values.add(id + ":" + record.value());
                }
            }
            Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
            consumer.assignment().forEach(tp -> offsets.put(tp, new OffsetAndMetadata(consumer.position(tp))));
            open(id, id, "60000");
            send(id, target, values);
            PRODUCERS.get(id).sendOffsetsToTransaction(offsets, consumer.groupMetadata());
            end(id, how);
        }
    }

    private static List<String> read(String topic, String last, String isolation) {
        List<String> values = new ArrayList<>();
        try (KafkaConsumer<String, String> consumer = consumer(topic, isolation + " of " + topic, isolation, 500)) {
            while (values.isEmpty() || !values.get(values.size() - 1).equals(last)) {
                consumer.poll(Duration.ofMillis(200)).forEach(record -> values.add(record.value()));
            }
        }
        return values;
    }

    private static KafkaConsumer<String, String> consumer(String topic, String group, String isolation, int atOnce) {
        Map<String, Object> properties = new HashMap<>(Map.of("bootstrap.servers", bootstrap, "group.id", group));
        properties.putAll(Map.of("isolation.level", isolation, "max.poll.records", atOnce));
        properties.putAll(Map.of("auto.offset.reset", "earliest", "enable.auto.commit", false));
        KafkaConsumer<String, String> made = new KafkaConsumer<>(properties, new StringDeserializer(), new StringDeserializer());
        made.subscribe(List.of(topic));
        return made;
    }
}
