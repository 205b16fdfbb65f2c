import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewPartitionReassignment;
import org.apache.kafka.common.TopicPartition;

/** Asks for moves of N partitions in one call, cancels them, asks again. Prints the seconds of each as JSON. */
public class Alter {
    public static void main(String[] arguments) throws Exception {
        int moves = Integer.parseInt(arguments[1]), partitions = Integer.parseInt(arguments[2]);
        int first = Integer.parseInt(arguments[3]), brokers = Integer.parseInt(arguments[4]);
        Properties properties = new Properties();
        properties.put("bootstrap.servers", arguments[0]);
        properties.put("request.timeout.ms", "120000");
        properties.put("default.api.timeout.ms", "240000");
        List<String> lines = new ArrayList<>();
        try (Admin admin = Admin.create(properties)) {
            for (String what : new String[] {"first", "cancelled", "again"}) {
                Map<TopicPartition, Optional<NewPartitionReassignment>> asked = new HashMap<>();
                for (int n = 0; n < moves; n++) {
                    List<Integer> target = new ArrayList<>();
                    for (int i = 0; i < 3; i++) target.add(first + (n + 3 + i) % brokers);
                    TopicPartition partition = new TopicPartition(String.format("topic-%06d", n / partitions), n % partitions);
                    asked.put(partition, what.equals("cancelled")
                        ? Optional.empty() : Optional.of(new NewPartitionReassignment(target)));
                }
                long began = System.nanoTime();
                admin.alterPartitionReassignments(asked).all().get();
                lines.add("\"" + what + "\": " + (System.nanoTime() - began) / 1e9);
            }
        }
        System.out.println("{" + String.join(", ", lines) + "}");
    }
}
