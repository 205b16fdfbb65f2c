import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewPartitionReassignment;
import org.apache.kafka.common.TopicPartition;

/** Asks in one call for the moves on stdin (topic, partition, brokers), cancels them, asks again: seconds as JSON. */
public class Alter {
    public static void main(String[] arguments) throws Exception {
        Map<TopicPartition, Optional<NewPartitionReassignment>> moves = new HashMap<>(), cancelled = new HashMap<>();
        for (String line : new BufferedReader(new InputStreamReader(System.in)).lines().toList()) {
            String[] words = line.split(" ");
            TopicPartition partition = new TopicPartition(words[0], Integer.parseInt(words[1]));
            List<Integer> target = Arrays.stream(words).skip(2).map(Integer::valueOf).toList();
            moves.put(partition, Optional.of(new NewPartitionReassignment(target)));
            cancelled.put(partition, Optional.empty());
        }
        Properties properties = new Properties();
        properties.put("bootstrap.servers", arguments[0]);
        properties.put("request.timeout.ms", "120000");
        properties.put("default.api.timeout.ms", "240000");
        List<String> lines = new ArrayList<>();
        try (Admin admin = Admin.create(properties)) {
            for (String what : new String[] {"first", "cancelled", "again"}) {
                long began = System.nanoTime();
                admin.alterPartitionReassignments(what.equals("cancelled") ? cancelled : moves).all().get();
                lines.add("\"" + what + "\": " + (System.nanoTime() - began) / 1e9);
            }
        }
        System.out.println("{" + String.join(", ", lines) + "}");
    }
}
