import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.InvocationTargetException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.Iterator;
import java.util.Map;
import org.apache.kafka.common.message.ApiMessageType;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.MessageUtil;
import org.apache.kafka.common.protocol.types.RawTaggedField;

/** Kafka's own classes as a codec by lines: each line of standard input is answered by one line.
 *
 *  api KEY                     "VERSION REQUEST_HEADER RESPONSE_HEADER" of each version that it has, joined by commas
 *  write NAME VERSION {json}   the bytes as hex; "_tags": {"NUMBER": "HEX"} adds tags that Kafka does not know
 *  read NAME VERSION HEX       the bytes that Kafka writes after it read these, a blank, and what it read as JSON
 */
public class Golden {
    private static final String PACKAGE = "org.apache.kafka.common.message.";
    private static final String RECORDS = "org.apache.kafka.coordinator.group.generated.";
    private static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] arguments) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            try {
                System.out.println(answer(line));
            } catch (InvocationTargetException refused) {
                System.out.println("refused " + refused.getCause());
            } catch (RuntimeException refused) {
                System.out.println("refused " + refused);
            }
        }
    }

    private static String answer(String line) throws Exception {
        String[] words = line.split(" ", 4);
        if (words[0].equals("api")) {
            return versions(ApiMessageType.fromApiKey(Short.parseShort(words[1])));
        }
        short version = Short.parseShort(words[2]);
        if (words[0].equals("write")) {
            JsonNode values = JSON.readTree(words[3]);
            Object message = converter(words[1]).getMethod("read", JsonNode.class, short.class)
                .invoke(null, values, version);
            tag((Message) message, values);
            return hex((ApiMessage) message, version);
        }
        return read(words[1], version, HexFormat.of().parseHex(words[3]));
    }

    /** Adds the fields "_tags" ({"NUMBER": "HEX"}) of `values`, wherever they stand, as tags that Kafka does not know. */
    private static void tag(Message message, JsonNode values) throws Exception {
        for (Iterator<Map.Entry<String, JsonNode>> fields = values.fields(); fields.hasNext();) {
            Map.Entry<String, JsonNode> field = fields.next();
            JsonNode value = field.getValue();
            if (field.getKey().equals("_tags")) {
                value.fields().forEachRemaining(tag -> message.unknownTaggedFields().add(
                    new RawTaggedField(Integer.parseInt(tag.getKey()), HexFormat.of().parseHex(tag.getValue().asText()))));
            } else if (value.isArray() && value.size() > 0 && value.get(0).isObject()) {
                Iterable<?> elements = (Iterable<?>) message.getClass().getMethod(field.getKey()).invoke(message);
                Iterator<JsonNode> all = value.elements();
                for (Object element : elements) {
                    tag((Message) element, all.next());
                }
            }
        }
    }

    private static String versions(ApiMessageType api) {
        StringBuilder all = new StringBuilder();
        for (short version = api.lowestSupportedVersion(); version <= api.highestSupportedVersion(true); version++) {
            all.append(all.length() == 0 ? "" : ",").append(version).append(' ')
                .append(api.requestHeaderVersion(version)).append(' ').append(api.responseHeaderVersion(version));
        }
        return all.toString();
    }

    private static String read(String name, short version, byte[] bytes) throws Exception {
        Class<?> type = Class.forName(nameOf(name));
        ApiMessage message = (ApiMessage) type.getConstructor().newInstance();
        message.read(new ByteBufferAccessor(ByteBuffer.wrap(bytes)), version);
        Object json = converter(name).getMethod("write", type, short.class).invoke(null, message, version);
        return hex(message, version) + " " + json;
    }

    private static Class<?> converter(String name) throws ClassNotFoundException {
        return Class.forName(nameOf(name) + "JsonConverter");
    }

    /** What coordinators of groups write are no requests, and lie elsewhere. */
    private static String nameOf(String name) {
        return name.endsWith("Key") || name.endsWith("Value") ? RECORDS + name : PACKAGE + name + "Data";
    }

    private static String hex(ApiMessage message, short version) {
        ByteBuffer bytes = MessageUtil.toByteBuffer(message, version);
        byte[] content = new byte[bytes.remaining()];
        bytes.get(content);
        return HexFormat.of().formatHex(content);
    }
}
