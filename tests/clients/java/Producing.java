import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Kafka's own producers, as many as there are sets of properties, in one JVM.
 *
 * <p>A line of standard input is a JSON list: the properties of a producer, a topic, and a list of keys, of which each
 * (null too) is a record. The answer is a line of JSON: {"ok": [for each record its partition, or the name of the error]}.
 */
public final class Producing {
    public static void main(String[] none) throws Exception {
        ObjectMapper json = new ObjectMapper();
        Map<JsonNode, KafkaProducer<String, String>> producers = new HashMap<>();
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            JsonNode words = json.readTree(line);
            KafkaProducer<String, String> producer = producers.computeIfAbsent(words.get(0), Producing::open);
            List<Object> ended = send(producer, words.get(1).asText(), words.get(2));
            System.out.println(json.writeValueAsString(Map.of("ok", ended)));
        }
    }

    private static KafkaProducer<String, String> open(JsonNode named) {
        Map<String, Object> properties = new HashMap<>();
        named.fields().forEachRemaining(field -> properties.put(field.getKey(), field.getValue().asText()));
        return new KafkaProducer<>(properties, new StringSerializer(), new StringSerializer());
    }

    private static List<Object> send(KafkaProducer<String, String> producer, String topic, JsonNode keys) throws Exception {
        List<Future<RecordMetadata>> sent = new ArrayList<>();
        for (JsonNode key : keys) {
            sent.add(producer.send(new ProducerRecord<>(topic, key.isNull() ? null : key.asText(), "value")));
        }
        producer.flush();
        List<Object> ended = new ArrayList<>();
        for (Future<RecordMetadata> one : sent) {
            try {
                ended.add(one.get().partition());
            } catch (ExecutionException error) {
                ended.add(error.getCause().getClass().getSimpleName());
            }
        }
        return ended;
    }
}
