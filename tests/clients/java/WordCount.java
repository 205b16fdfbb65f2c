import java.time.Duration;
import java.util.Arrays;
import java.util.Properties;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.state.Stores;

/** Kafka Streams: counts the words of the topic "lines" into "counts". Arguments: bootstrap, a folder, the guarantee. */
public final class WordCount {
    public static void main(String[] arguments) {
        Properties config = new Properties();
        config.put(StreamsConfig.APPLICATION_ID_CONFIG, "word-count");
        config.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, arguments[0]);
        config.put(StreamsConfig.STATE_DIR_CONFIG, arguments[1]);
        config.put(StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, 100);
        config.put(StreamsConfig.REPLICATION_FACTOR_CONFIG, 3);
        config.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, arguments[2]);
        config.put("transaction.timeout.ms", 10_000);
        config.put("auto.offset.reset", "earliest");
        config.put("session.timeout.ms", 6000);
        config.put("heartbeat.interval.ms", 500);
        var text = Serdes.String();
        var builder = new StreamsBuilder();
        builder.stream("lines", Consumed.with(text, text))
            .flatMapValues(line -> Arrays.asList(line.split(" ")))
            .groupBy((key, word) -> word, Grouped.with(text, text))
            .count(Materialized.<String, Long>as(Stores.inMemoryKeyValueStore("words"))
                .withKeySerde(text).withValueSerde(Serdes.Long()))
            .toStream()
            .mapValues(String::valueOf)
            .to("counts", Produced.with(text, text));
        var streams = new KafkaStreams(builder.build(), config);
        Runtime.getRuntime().addShutdownHook(new Thread(() -> streams.close(Duration.ofSeconds(10))));
        streams.start();
    }
}
