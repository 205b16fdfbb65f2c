import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.*;
import java.net.*;
import java.nio.ByteBuffer;
import java.util.*;
import java.util.concurrent.*;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.*;
import org.apache.kafka.common.message.AlterPartitionRequestData.*;
import org.apache.kafka.common.message.LeaderAndIsrRequestData.LeaderAndIsrPartitionState;
import org.apache.kafka.common.message.LeaderAndIsrResponseData.*;
import org.apache.kafka.common.message.StopReplicaResponseData.StopReplicaPartitionError;
import org.apache.kafka.common.message.UpdateMetadataRequestData.*;
import org.apache.kafka.common.protocol.*;
import org.apache.kafka.common.requests.*;
import org.apache.zookeeper.*;
import org.apache.zookeeper.Watcher.Event.KeeperState;
import org.apache.zookeeper.ZooDefs.Ids;
import org.apache.zookeeper.data.Stat;

/**
 * Brokers of a cluster in ZooKeeper mode that hold no data and answer their controller at once.
 *
 * Arguments: ZooKeeper with its chroot, and the ids of the brokers (below 64). A line of JSON is printed once they are
 * registered. Each line of stdin is a command, answered by one line of JSON; the program ends with stdin.
 *
 *   stats     what live brokers received under the latest controller epoch, each partition counted once per broker
 *   on ID     how many partitions that broker leads, and in how many ISRs it is: the most that a live broker knows of
 *   kill ID   the broker's session and its connections are closed
 *
 * A leader sends AlterPartition with every live replica that is neither in the ISR nor about to be removed. As in
 * Kafka, one such request is on its way per broker, and the next one has everything that was found meanwhile.
 */
public class SimulatedBrokers {
    private static final short ALTER_PARTITION_VERSION = 3; // what a broker sends at inter.broker.protocol.version 3.9
    private static final int SESSION_MS = 18_000;
    private static final int RETRY_MS = 50; // as Kafka's brokers
    private static final int IDS = 64; // members of an ISR are the bits of a long
    private static final List<ApiKeys> SERVED = List.of(ApiKeys.LEADER_AND_ISR, ApiKeys.STOP_REPLICA,
            ApiKeys.UPDATE_METADATA, ApiKeys.METADATA, ApiKeys.API_VERSIONS);
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Map<Integer, Broker> LIVE = new ConcurrentSkipListMap<>();
    private static final Map<String, Integer> REQUESTS = new ConcurrentHashMap<>();
    private static final Map<String, Integer> ALTERED = new ConcurrentHashMap<>();

    public static void main(String[] arguments) throws Exception {
        for (int i = 1; i < arguments.length; i++) {
            int id = Integer.parseInt(arguments[i]);
            LIVE.put(id, new Broker(id, arguments[0]));
        }
        print(Map.of("registered", LIVE.size()));
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in));
        for (String line = commands.readLine(); line != null; line = commands.readLine()) {
            String[] words = line.split(" ");
            switch (words[0]) {
                case "stats" -> print(stats());
                case "on" -> print(on(Integer.parseInt(words[1])));
                case "kill" -> {
                    LIVE.remove(Integer.parseInt(words[1])).close();
                    print(Map.of());
                }
                default -> print(Map.of("unknown", line));
            }
        }
        System.exit(0);
    }

    private static void print(Map<String, ?> answer) throws IOException {
        System.out.println(JSON.writeValueAsString(answer));
    }

    private static Map<String, ?> stats() {
        int epoch = LIVE.values().stream().mapToInt(b -> b.epoch).max().orElse(0);
        int states = 0, metadata = 0;
        long statesMs = 0, metadataMs = 0;
        for (Broker broker : LIVE.values()) {
            synchronized (broker) {
                states += broker.states.countIn(epoch);
                metadata += broker.metadata.countIn(epoch);
                statesMs = Math.max(statesMs, broker.states.lastMs);
                metadataMs = Math.max(metadataMs, broker.metadata.lastMs);
            }
        }
        return Map.of("epoch", epoch, "states", states, "metadata", metadata, "states_ms", statesMs,
                "metadata_ms", metadataMs, "requests", REQUESTS, "altered", ALTERED);
    }

    private static Map<String, ?> on(int id) {
        int led = 0, inSync = 0;
        for (Broker broker : LIVE.values()) {
            synchronized (broker) {
                led = Math.max(led, broker.led[id]);
                inSync = Math.max(inSync, broker.inSync[id]);
            }
        }
        return Map.of("led", led, "in_sync", inSync);
    }

    /** The partitions that arrived under the latest controller epoch, each counted once. */
    private static final class Arrived {
        private final Map<String, int[]> epochs = new HashMap<>();
        private int epoch, count;
        private long lastMs;

        int countIn(int controllerEpoch) {
            return controllerEpoch == epoch ? count : 0;
        }

        void note(int controllerEpoch, String topic, int partition) {
            if (controllerEpoch != epoch) {
                epoch = controllerEpoch;
                count = 0;
            }
            int[] known = epochs.computeIfAbsent(topic, name -> new int[16]);
            if (partition >= known.length) {
                known = Arrays.copyOf(known, Math.max(2 * known.length, partition + 1));
                epochs.put(topic, known);
            }
            if (known[partition] != controllerEpoch) {
                known[partition] = controllerEpoch;
                count++;
                lastMs = System.currentTimeMillis();
            }
        }
    }

    private record Known(int leader, long isr) {}

    private record Place(Uuid topic, int partition) {}

    private static final class Broker {
        final int id;
        final Arrived states = new Arrived(), metadata = new Arrived();
        final int[] led = new int[IDS], inSync = new int[IDS];
        volatile int epoch; // of the controller
        private final ServerSocket server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
        private final Set<Socket> sockets = ConcurrentHashMap.newKeySet();
        private final Map<String, Map<Integer, Known>> known = new HashMap<>();
        private final Map<Place, PartitionData> joining = new LinkedHashMap<>();
        private final ZooKeeper session;
        private final long brokerEpoch;
        private List<UpdateMetadataBroker> brokers = List.of();
        private int controllerId = -1;
        private volatile UpdateMetadataEndpoint controller;
        private UpdateMetadataEndpoint connectedTo; // this and the next one belong to the thread of `join`
        private Socket toController;
        private volatile boolean isClosed;

        Broker(int id, String zookeeper) throws Exception {
            this.id = id;
            start(this::accept);
            start(this::join);
            CountDownLatch connected = new CountDownLatch(1);
            session = new ZooKeeper(zookeeper, SESSION_MS, event -> {
                if (event.getState() == KeeperState.SyncConnected) connected.countDown();
            });
            connected.await();
            brokerEpoch = register();
        }

        /** Returns the broker epoch: the zxid of the registration. */
        private long register() throws Exception {
            try {
                session.create("/brokers/ids", null, Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT);
            } catch (KeeperException.NodeExistsException e) {
                // the first broker created it
            }
            String host = server.getInetAddress().getHostAddress();
            int port = server.getLocalPort();
            Map<String, ?> value = Map.of("version", 5, "host", host, "port", port, "jmx_port", -1,
                    "timestamp", String.valueOf(System.currentTimeMillis()), "features", Map.of(),
                    "endpoints", List.of("PLAINTEXT://" + host + ":" + port),
                    "listener_security_protocol_map", Map.of("PLAINTEXT", "PLAINTEXT"));
            Stat stat = new Stat();
            byte[] bytes = JSON.writeValueAsBytes(value);
            session.create("/brokers/ids/" + id, bytes, Ids.OPEN_ACL_UNSAFE, CreateMode.EPHEMERAL, stat);
            return stat.getCzxid();
        }

        void close() throws Exception {
            isClosed = true;
            server.close();
            for (Socket socket : sockets) socket.close();
            session.close();
        }

        private void start(Runnable body) {
            Thread thread = new Thread(body, "broker-" + id);
            thread.setDaemon(true);
            thread.start();
        }

        private void accept() {
            try {
                while (true) {
                    Socket socket = server.accept();
                    socket.setTcpNoDelay(true);
                    sockets.add(socket);
                    start(() -> serve(socket));
                }
            } catch (IOException e) {
                if (!isClosed) throw new UncheckedIOException(e);
            }
        }

        private void serve(Socket socket) {
            try (socket) {
                DataInputStream in = new DataInputStream(socket.getInputStream());
                while (true) {
                    byte[] frame = new byte[in.readInt()];
                    in.readFully(frame);
                    send(socket, answer(ByteBuffer.wrap(frame)));
                }
            } catch (IOException e) {
                sockets.remove(socket); // the controller closed the connection, or the broker is closed
            }
        }

        private static void send(Socket socket, ByteBuffer frame) throws IOException {
            ByteBuffer whole = ByteBuffer.allocate(4 + frame.remaining()).putInt(frame.remaining()).put(frame);
            socket.getOutputStream().write(whole.array());
        }

        private ByteBuffer answer(ByteBuffer frame) {
            RequestHeader header = RequestHeader.parse(frame);
            REQUESTS.merge(header.apiKey().name, 1, Integer::sum);
            AbstractRequest request = AbstractRequest.parseRequest(header.apiKey(), header.apiVersion(), frame).request;
            ResponseHeader answered = header.toResponseHeader();
            ApiMessage body = request instanceof AbstractControlRequest control ? obey(control)
                    : request instanceof MetadataRequest ? metadata() : versions();
            return RequestUtils.serialize(answered.data(), answered.headerVersion(), body, header.apiVersion());
        }

        private static ApiMessage versions() {
            ApiVersionsResponseData answer = new ApiVersionsResponseData();
            for (ApiKeys api : SERVED) {
                answer.apiKeys().add(new ApiVersionsResponseData.ApiVersion().setApiKey(api.id)
                        .setMinVersion(api.oldestVersion()).setMaxVersion(api.latestVersion()));
            }
            return answer;
        }

        /** The brokers and the controller, with no topic: for clients that look for the controller. */
        private synchronized ApiMessage metadata() {
            MetadataResponseData answer = new MetadataResponseData().setControllerId(controllerId);
            for (UpdateMetadataBroker broker : brokers) {
                UpdateMetadataEndpoint at = broker.endpoints().get(0);
                answer.brokers().add(new MetadataResponseData.MetadataResponseBroker().setNodeId(broker.id())
                        .setHost(at.host()).setPort(at.port()));
            }
            return answer;
        }

        private synchronized ApiMessage obey(AbstractControlRequest request) {
            boolean isStale = request.controllerEpoch() < epoch;
            short error = isStale ? Errors.STALE_CONTROLLER_EPOCH.code() : 0;
            epoch = Math.max(epoch, request.controllerEpoch());
            notifyAll(); // `taken` looks again once this has been carried out
            if (request instanceof LeaderAndIsrRequest states) {
                return isStale ? new LeaderAndIsrResponseData().setErrorCode(error) : follow(states);
            }
            if (request instanceof UpdateMetadataRequest update) {
                if (!isStale) learn(update);
                return new UpdateMetadataResponseData().setErrorCode(error);
            }
            List<StopReplicaPartitionError> stopped = new ArrayList<>();
            ((StopReplicaRequest) request).partitionStates().keySet().forEach(tp -> stopped.add(
                    new StopReplicaPartitionError().setTopicName(tp.topic()).setPartitionIndex(tp.partition())));
            return new StopReplicaResponseData().setErrorCode(error).setPartitionErrors(stopped);
        }

        /** The answer names every partition, as that of Kafka's brokers. */
        private ApiMessage follow(LeaderAndIsrRequest request) {
            LeaderAndIsrResponseData answer = new LeaderAndIsrResponseData();
            Map<String, Uuid> ids = request.topicIds();
            Map<String, LeaderAndIsrTopicError> topics = new HashMap<>();
            for (LeaderAndIsrPartitionState state : request.partitionStates()) {
                Uuid topicId = ids.get(state.topicName());
                states.note(epoch, state.topicName(), state.partitionIndex());
                topics.computeIfAbsent(state.topicName(), name -> {
                    LeaderAndIsrTopicError topic = new LeaderAndIsrTopicError().setTopicId(topicId);
                    answer.topics().add(topic);
                    return topic;
                }).partitionErrors().add(new LeaderAndIsrPartitionError().setPartitionIndex(state.partitionIndex()));
                if (state.leader() == id) lead(topicId, state);
            }
            return answer;
        }

        private void lead(Uuid topicId, LeaderAndIsrPartitionState state) {
            List<BrokerState> members = new ArrayList<>();
            for (int member : state.isr()) members.add(new BrokerState().setBrokerId(member));
            for (int replica : state.replicas()) {
                if (LIVE.containsKey(replica) && !state.isr().contains(replica)
                        && !state.removingReplicas().contains(replica)) {
                    members.add(new BrokerState().setBrokerId(replica));
                }
            }
            Place place = new Place(topicId, state.partitionIndex());
            joining.remove(place); // what was found before has old epochs
            if (members.size() > state.isr().size()) {
                joining.put(place, new PartitionData()
                        .setPartitionIndex(state.partitionIndex()).setLeaderEpoch(state.leaderEpoch())
                        .setPartitionEpoch(state.partitionEpoch()).setNewIsrWithEpochs(members));
            }
        }

        private void learn(UpdateMetadataRequest request) {
            brokers = request.liveBrokers();
            controllerId = request.controllerId();
            for (UpdateMetadataBroker broker : brokers) {
                if (broker.id() == controllerId) controller = broker.endpoints().get(0);
            }
            for (UpdateMetadataPartitionState state : request.partitionStates()) {
                metadata.note(epoch, state.topicName(), state.partitionIndex());
                long isr = 0;
                for (int member : state.isr()) isr |= 1L << member;
                Known now = new Known(state.leader(), isr);
                Known before = known.computeIfAbsent(state.topicName(), name -> new HashMap<>())
                        .put(state.partitionIndex(), now);
                if (before != null) count(before, -1);
                count(now, 1);
            }
        }

        private void count(Known partition, int by) {
            if (partition.leader >= 0) led[partition.leader] += by;
            for (long left = partition.isr; left != 0; left &= left - 1) {
                inSync[Long.numberOfTrailingZeros(left)] += by;
            }
        }

        private void join() {
            try {
                while (!isClosed) {
                    Map<Place, PartitionData> failed = alter(taken());
                    if (!failed.isEmpty()) {
                        Thread.sleep(RETRY_MS);
                        again(failed);
                    }
                }
            } catch (InterruptedException e) {
                throw new IllegalStateException(e); // nobody interrupts it
            }
        }

        private synchronized Map<Place, PartitionData> taken() throws InterruptedException {
            while (joining.isEmpty() || controller == null) wait();
            Map<Place, PartitionData> batch = new LinkedHashMap<>(joining);
            joining.clear();
            return batch;
        }

        /** What was found since then has newer epochs. */
        private synchronized void again(Map<Place, PartitionData> batch) {
            batch.forEach(joining::putIfAbsent);
        }

        /** Returns the partitions to send again. Other refusals are final: the controller sends a newer state. */
        private Map<Place, PartitionData> alter(Map<Place, PartitionData> batch) {
            Map<Uuid, TopicData> topics = new LinkedHashMap<>();
            batch.forEach((place, partition) -> topics.computeIfAbsent(place.topic, id ->
                    new TopicData().setTopicId(id)).partitions().add(partition));
            AlterPartitionRequestData request = new AlterPartitionRequestData().setBrokerId(id)
                    .setBrokerEpoch(brokerEpoch).setTopics(new ArrayList<>(topics.values()));
            AlterPartitionResponseData answer;
            try {
                answer = ask(new AlterPartitionRequest(request, ALTER_PARTITION_VERSION));
            } catch (IOException e) {
                connectedTo = null;
                answer = new AlterPartitionResponseData().setErrorCode(Errors.NETWORK_EXCEPTION.code());
            }
            if (answer.errorCode() != 0) {
                ALTERED.merge(Errors.forCode(answer.errorCode()).name(), 1, Integer::sum);
                return batch;
            }
            Map<Place, PartitionData> failed = new LinkedHashMap<>();
            for (AlterPartitionResponseData.TopicData topic : answer.topics()) {
                for (AlterPartitionResponseData.PartitionData partition : topic.partitions()) {
                    Errors error = Errors.forCode(partition.errorCode());
                    ALTERED.merge(error.name(), 1, Integer::sum);
                    Place place = new Place(topic.topicId(), partition.partitionIndex());
                    if (error == Errors.NOT_CONTROLLER) failed.put(place, batch.get(place));
                }
            }
            return failed;
        }

        private AlterPartitionResponseData ask(AlterPartitionRequest request) throws IOException {
            UpdateMetadataEndpoint at = controller;
            if (!at.equals(connectedTo)) {
                if (toController != null) toController.close();
                toController = new Socket(at.host(), at.port());
                toController.setTcpNoDelay(true);
                connectedTo = at;
            }
            RequestHeader header =
                    new RequestHeader(ApiKeys.ALTER_PARTITION, ALTER_PARTITION_VERSION, "broker-" + id, 1);
            send(toController, request.serializeWithHeader(header));
            DataInputStream in = new DataInputStream(toController.getInputStream());
            byte[] frame = new byte[in.readInt()];
            in.readFully(frame);
            return ((AlterPartitionResponse) AbstractResponse.parseResponse(ByteBuffer.wrap(frame), header)).data();
        }
    }
}
