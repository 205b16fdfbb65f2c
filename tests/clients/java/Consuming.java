import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;

/** Members of groups, of Kafka's own consumer. Argument: the address. `consuming.py` describes the lines. */
public final class Consuming {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Map<String, Member> MEMBERS = new HashMap<>();

    public static void main(String[] arguments) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            JsonNode words = JSON.readTree(line);
            String name = words.get(1).asText();
            if (words.get(0).asText().equals("close")) {
                MEMBERS.get(name).isOver = true;
                continue;
            }
            Map<String, Object> settings = JSON.convertValue(words.get(2), new TypeReference<>() {});
            settings.put("bootstrap.servers", arguments[0]);
            MEMBERS.put(name, new Member(name, settings, words.get(3)));
            MEMBERS.get(name).start();
        }
        System.exit(0);
    }

    private static void say(String name, String what, Object detail) {
        try {
            String line = JSON.writeValueAsString(List.of(name, what, detail));
            synchronized (JSON) {
                System.out.println(line);
            }
        } catch (Exception error) {
            throw new IllegalStateException(error);
        }
    }

    private static final class Member extends Thread implements ConsumerRebalanceListener {
        private final Map<String, Object> settings;
        private final JsonNode wanted;
        private volatile boolean isOver;

        private Member(String name, Map<String, Object> settings, JsonNode wanted) {
            super(name);
            this.settings = settings;
            this.wanted = wanted;
        }

        @Override
        public void run() {
            try (KafkaConsumer<String, String> consumer =
                    new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer())) {
                subscribe(consumer);
                while (!isOver) {
                    read(consumer, consumer.poll(Duration.ofMillis(100)));
                }
            } catch (KafkaException | ReflectiveOperationException error) {
                say(getName(), "failed", error.toString());
            }
            say(getName(), "closed", List.of());
        }

        private void subscribe(KafkaConsumer<String, String> consumer) throws ReflectiveOperationException {
            if (wanted.isArray()) {
                consumer.subscribe(JSON.convertValue(wanted, new TypeReference<List<String>>() {}), this);
            } else if (wanted.asText().startsWith("^")) { // which the client evaluates
                consumer.subscribe(Pattern.compile(wanted.asText()), this);
            } else { // which the coordinator evaluates; consumers before 4.0 have no such class
                Class<?> pattern = Class.forName("org.apache.kafka.clients.consumer.SubscriptionPattern");
                Object made = pattern.getConstructor(String.class).newInstance(wanted.asText());
                KafkaConsumer.class
                    .getMethod("subscribe", pattern, ConsumerRebalanceListener.class)
                    .invoke(consumer, made, this);
            }
        }

        private void read(KafkaConsumer<String, String> consumer, ConsumerRecords<String, String> records) {
            records.forEach(
                each -> say(getName(), "read", List.of(each.topic(), each.partition(), each.offset(), each.value())));
            try {
                if (!records.isEmpty()) {
                    consumer.commitSync();
                }
            } catch (KafkaException error) { // the next commit says more
                say(getName(), "uncommitted", error.toString());
            }
        }

        @Override
        public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
            say(getName(), "assigned", rows(partitions));
        }

        @Override
        public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
            say(getName(), "revoked", rows(partitions));
        }

        @Override
        public void onPartitionsLost(Collection<TopicPartition> partitions) {
            say(getName(), "lost", rows(partitions));
        }

        private static List<List<Object>> rows(Collection<TopicPartition> partitions) {
            return partitions.stream().map(tp -> List.<Object>of(tp.topic(), tp.partition())).toList();
        }
    }
}
