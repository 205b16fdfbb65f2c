import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.kafka.common.utils.Exit;

/**
 * Kafka's tools one after the other in one JVM, since each JVM of its own costs seconds.
 *
 * <p>A line of standard input is a JSON list: the main class of a tool, and its arguments. The answer is a line of JSON:
 * {"ok": {"code": its exit code, "out": what it printed, "err": what it complained of}}. The tool's own `main` is run;
 * where it would end the JVM, it ends.
 */
public final class Tools {
    /** Where a tool would end the JVM. */
    private static final class Ended extends Error {
        private Ended() {
            super("the tool ended", null, false, false);
        }
    }

    /** What Scala and Java print to; they keep the stream that they find first. */
    private static final class Caught extends OutputStream {
        private ByteArrayOutputStream bytes = new ByteArrayOutputStream();

        @Override
        public synchronized void write(int one) {
            bytes.write(one);
        }

        @Override
        public synchronized void write(byte[] some, int from, int length) {
            bytes.write(some, from, length);
        }

        private synchronized String take() {
            String said = bytes.toString(StandardCharsets.UTF_8);
            bytes = new ByteArrayOutputStream();
            return said;
        }
    }

    private static Integer code;

    public static void main(String[] none) throws Exception {
        PrintStream answers = System.out;
        Caught out = new Caught();
        Caught err = new Caught();
        System.setOut(new PrintStream(out, true, StandardCharsets.UTF_8));
        System.setErr(new PrintStream(err, true, StandardCharsets.UTF_8));
        Exit.setExitProcedure((status, message) -> {
            code = code == null ? status : code; // a tool that catches this, too, calls again
            throw new Ended();
        });
        ObjectMapper json = new ObjectMapper();
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] words = json.readValue(line, String[].class);
            run(words[0], Arrays.copyOfRange(words, 1, words.length));
            Map<String, Object> said = new LinkedHashMap<>();
            said.put("code", code);
            said.put("out", out.take());
            said.put("err", err.take());
            answers.println(json.writeValueAsString(Map.of("ok", said)));
        }
    }

    private static void run(String tool, String[] arguments) throws Exception {
        code = null;
        try {
            Class.forName(tool).getMethod("main", String[].class).invoke(null, (Object) arguments);
        } catch (InvocationTargetException error) {
            if (!(error.getCause() instanceof Ended)) {
                error.getCause().printStackTrace();
                code = 1; // as the JVM ends where main threw
            }
        }
        code = code == null ? 0 : code;
    }
}
