import com.fasterxml.jackson.databind.ObjectMapper;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Scanner;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import kafka.cluster.Broker;
import kafka.controller.LeaderIsrAndControllerEpoch;
import kafka.controller.ReplicaAssignment;
import kafka.zk.BrokerIdZNode;
import kafka.zk.ClusterIdZNode;
import kafka.zk.ConfigEntityZNode;
import kafka.zk.ControllerEpochZNode;
import kafka.zk.ControllerZNode;
import kafka.zk.IsrChangeNotificationSequenceZNode;
import kafka.zk.KafkaZkClient;
import kafka.zk.LogDirEventNotificationSequenceZNode;
import kafka.zk.PreferredReplicaElectionZNode;
import kafka.zk.ReassignPartitionsZNode;
import kafka.zk.TopicPartitionStateZNode;
import kafka.zk.TopicZNode;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.utils.Time;
import org.apache.zookeeper.client.ZKClientConfig;
import org.apache.zookeeper.data.Stat;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Kafka's own client of ZooKeeper, told by lines on standard input what to read and to write; one line of answer each.
 *
 * <p>Nothing of Kafka's formats is known here: what decodes and encodes is Kafka. An answer begins with "ok", or with
 * "bad" and what Kafka's reader threw or refused.
 *
 * <pre>
 *   decode PATH BASE64       the value is what Kafka's reader of that path accepts; says what it understood
 *   read                     the whole tree, by the client that brokers and the controller of Kafka use
 *   isr TOPIC PARTITION, logdir BROKER, config TOPIC KEY VALUE, elect TOPIC PARTITION, delete TOPIC,
 *   reassign TOPIC PARTITION BROKERS        as Kafka's brokers and tools write it
 *   paths                    the parents that every broker of Kafka's makes when it starts
 *   id                       the number of a broker that asks for an id
 * </pre>
 */
public final class KafkaReader {
    private static final Stat STAT = new Stat();
    private static final Pattern STATE = Pattern.compile("/brokers/topics/([^/]+)/partitions/(\\d+)/state");
    private static final Pattern TOPIC = Pattern.compile("/brokers/topics/([^/]+)");
    private static final Pattern BROKER = Pattern.compile("/brokers/ids/(\\d+)");

    private final KafkaZkClient client;

    private KafkaReader(KafkaZkClient client) {
        this.client = client;
    }

    public static void main(String[] arguments) throws Exception {
        KafkaZkClient client = KafkaZkClient.apply(
                arguments[0], false, 30000, 30000, 10, Time.SYSTEM, "reader", new ZKClientConfig(), "kafka.server",
                "SessionExpireListener", false, false);
        KafkaReader reader = new KafkaReader(client);
        System.out.println("ok connected");
        try (Scanner lines = new Scanner(System.in, StandardCharsets.UTF_8)) {
            while (lines.hasNextLine()) {
                System.out.println(reader.answer(lines.nextLine().split(" ", -1)));
            }
        } finally {
            client.close();
        }
    }

    private String answer(String[] words) {
        try {
            return "ok " + obey(words).replace('\n', ' ');
        } catch (Throwable error) {
            return ("bad " + String.join(" ", words) + ": " + error).replace('\n', ' ');
        }
    }

    private String obey(String[] words) throws Exception {
        switch (words[0]) {
            case "decode":
                return decode(words[1], Base64.getDecoder().decode(words[2]));
            case "read":
                return read();
            case "paths":
                client.createTopLevelPaths();
                return "";
            case "isr":
                client.propagateIsrChanges(partition(words));
                return "";
            case "logdir":
                client.propagateLogDirEvent(Integer.parseInt(words[1]));
                return "";
            case "config":
                Properties properties = new Properties();
                properties.setProperty(words[2], words[3]);
                client.setOrCreateEntityConfigs("topics", words[1], properties);
                client.createConfigChangeNotification("topics/" + words[1]);
                return "";
            case "elect":
                client.createPreferredReplicaElection(partition(words));
                return "";
            case "delete":
                client.createDeleteTopicPath(words[1]);
                return "";
            case "id":
                return String.valueOf(client.generateBrokerSequenceId());
            case "reassign":
                Map<TopicPartition, scala.collection.Seq<Object>> plan = new TreeMap<>((a, b) -> 0);
                List<Object> brokers = new ArrayList<>();
                Arrays.stream(words[3].split(",")).map(Integer::valueOf).forEach(brokers::add);
                plan.put(
                        new TopicPartition(words[1], Integer.parseInt(words[2])),
                        CollectionConverters.asScala(brokers).toSeq());
                client.createPartitionReassignment(CollectionConverters.asScala(plan));
                return "";
            default:
                throw new IllegalArgumentException("no such order");
        }
    }

    private static scala.collection.immutable.Set<TopicPartition> partition(String[] words) {
        TopicPartition one = new TopicPartition(words[1], Integer.parseInt(words[2]));
        return CollectionConverters.asScala(java.util.Set.of(one)).toSet();
    }

    /** What stands at one path, by the decoder that Kafka has for it. */
    private static String decode(String path, byte[] value) throws Exception {
        Matcher state = STATE.matcher(path);
        Matcher topic = TOPIC.matcher(path);
        Matcher broker = BROKER.matcher(path);
        if (state.matches()) {
            return some(TopicPartitionStateZNode.decode(value, STAT)).toString();
        } else if (topic.matches()) {
            TopicZNode.TopicIdReplicaAssignment found = TopicZNode.decode(topic.group(1), value);
            some(found.topicId()); // Kafka's reader takes broken JSON for a topic without an id and without partitions
            return found.topicId() + " " + assignments(found);
        } else if (broker.matches()) {
            return BrokerIdZNode.decode(Integer.parseInt(broker.group(1)), value).toString();
        } else if (path.equals("/controller")) {
            return some(ControllerZNode.decode(value)).toString();
        } else if (path.equals("/controller_epoch")) {
            return String.valueOf(ControllerEpochZNode.decode(value));
        } else if (path.equals("/cluster/id")) {
            return ClusterIdZNode.fromJson(value);
        } else if (path.equals("/admin/reassign_partitions")) {
            scala.util.Either<?, ?> plan = ReassignPartitionsZNode.decode(value);
            if (plan.isLeft()) {
                throw (Exception) plan.left().toOption().get();
            }
            return plan.toString();
        } else if (path.equals("/admin/preferred_replica_election")) {
            return named(PreferredReplicaElectionZNode.decode(value));
        } else if (path.startsWith("/isr_change_notification/")) {
            return named(IsrChangeNotificationSequenceZNode.decode(value));
        } else if (path.startsWith("/log_dir_event_notification/")) {
            return some(LogDirEventNotificationSequenceZNode.decode(value)).toString();
        } else if (path.startsWith("/config/changes/")) {
            return change(value);
        } else if (path.startsWith("/config/")) {
            return config(value);
        }
        return "unread";
    }

    /** As `ConfigChangedNotificationHandler` does, which can be had only inside a broker. */
    private static String change(byte[] value) throws Exception {
        Map<?, ?> found = new ObjectMapper().readValue(value, Map.class);
        if (!Integer.valueOf(2).equals(found.get("version")) || !(found.get("entity_path") instanceof String)) {
            throw new IllegalArgumentException("a config change of version 2 has an entity_path: " + found);
        }
        return found.toString();
    }

    /** Kafka's reader takes broken JSON for no settings at all. */
    private static String config(byte[] value) throws Exception {
        Map<?, ?> found = new ObjectMapper().readValue(value, Map.class);
        Properties read = ConfigEntityZNode.decode(value);
        if (!read.equals(found.get("config"))) {
            throw new IllegalArgumentException("Kafka reads " + read + " from " + found);
        }
        return read.toString();
    }

    private static Object some(scala.Option<?> found) {
        if (found.isEmpty()) {
            throw new IllegalArgumentException("Kafka reads nothing there");
        }
        return found.get();
    }

    /** Kafka's readers of sets answer broken JSON with an empty one. */
    private static String named(scala.collection.immutable.Set<TopicPartition> found) {
        if (found.isEmpty()) {
            throw new IllegalArgumentException("Kafka reads no partition there");
        }
        return found.toString();
    }

    private static String assignments(TopicZNode.TopicIdReplicaAssignment found) {
        Map<String, String> sorted = new TreeMap<>();
        for (Map.Entry<TopicPartition, ReplicaAssignment> each : CollectionConverters.asJava(found.assignment()).entrySet()) {
            ReplicaAssignment said = each.getValue();
            sorted.put(each.getKey().toString(), said.replicas().mkString("[", ",", "]")
                    + said.addingReplicas().mkString("+[", ",", "]") + said.removingReplicas().mkString("-[", ",", "]"));
        }
        return sorted.toString();
    }

    /** The tree as a controller of Kafka loads it. */
    private String read() {
        StringBuilder said = new StringBuilder();
        said.append("controller ").append(client.getControllerId()).append(" epoch ").append(client.getControllerEpoch().get()._1());
        for (Broker broker : CollectionConverters.asJava(client.getAllBrokersInCluster())) {
            said.append("; broker ").append(broker.id());
        }
        scala.collection.immutable.Set<String> topics = client.getAllTopicsInCluster(false);
        for (TopicZNode.TopicIdReplicaAssignment topic :
                CollectionConverters.asJava(client.getReplicaAssignmentAndTopicIdForTopics(topics))) {
            said.append("; topic ").append(topic.topic()).append(' ').append(some(topic.topicId())).append(' ').append(assignments(topic));
            List<TopicPartition> partitions = new ArrayList<>(CollectionConverters.asJava(topic.assignment()).keySet());
            Map<TopicPartition, LeaderIsrAndControllerEpoch> states =
                    CollectionConverters.asJava(client.getTopicPartitionStates(CollectionConverters.asScala(partitions).toSeq()));
            if (states.size() != partitions.size()) {
                throw new IllegalStateException(topic.topic() + ": states of " + states.keySet() + " only");
            }
        }
        client.getAllEntitiesWithConfig("topics").foreach(name -> client.getEntityConfigs("topics", name));
        said.append("; isr changes of ").append(client.getPartitionsFromIsrChangeNotifications(client.getAllIsrChangeNotifications()));
        said.append("; log dirs of ").append(client.getBrokerIdsFromLogDirEvents(client.getAllLogDirEventNotifications()));
        said.append("; deleting ").append(client.getTopicDeletions()).append("; electing ").append(client.getPreferredReplicaElection());
        said.append("; reassigning ").append(client.getPartitionReassignment()).append("; cluster ").append(client.getClusterId());
        return said.toString();
    }
}
