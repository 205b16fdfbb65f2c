import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Base64;
import org.apache.kafka.common.utils.Exit;

/**
 * Runs Kafka's command line tools one after the other in one process: a line in is a class and its arguments, separated
 * by tabs; a line out is the exit code, what it printed and what it complained of, in base64.
 */
public class KafkaTools {
    private static final class Ended extends Error {
        final int code;

        Ended(int code) {
            super(null, null, false, false);
            this.code = code;
        }
    }

    public static void main(String[] arguments) throws Exception {
        PrintStream answers = System.out;
        PrintStream complaints = System.err;
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        int[] first = new int[1];
        Exit.Procedure end = (code, message) -> {
            if (first[0] < 0) {
                first[0] = code;
                if (message != null) {
                    System.err.println(message);
                }
            }
            throw new Ended(code);
        };
        Exit.setExitProcedure(end);
        Exit.setHaltProcedure(end);
        // The same two streams for all of them: Scala's Console keeps those that it finds first.
        ByteArrayOutputStream said = new ByteArrayOutputStream();
        ByteArrayOutputStream complained = new ByteArrayOutputStream();
        System.setOut(new PrintStream(said, true, "UTF-8"));
        System.setErr(new PrintStream(complained, true, "UTF-8"));
        answers.println("ready");
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] words = line.split("\t", -1);
            said.reset();
            complained.reset();
            first[0] = -1;
            try {
                Object given = Arrays.copyOfRange(words, 1, words.length);
                Class.forName(words[0]).getMethod("main", String[].class).invoke(null, given);
            } catch (InvocationTargetException thrown) {
                if (!(thrown.getCause() instanceof Ended)) {
                    thrown.getCause().printStackTrace();
                    first[0] = first[0] < 0 ? 1 : first[0];
                }
            }
            System.out.flush();
            System.err.flush();
            answers.println(Math.max(first[0], 0) + " " + base64(said) + " " + base64(complained));
            answers.flush();
        }
        Runtime.getRuntime().halt(0);
    }

    private static String base64(ByteArrayOutputStream bytes) {
        return "=" + Base64.getEncoder().encodeToString(bytes.toByteArray());
    }
}
