// kadm, unmodified; arguments: the address, and where one has to log in, a file with the authority's certificate, a name
// and a password. A line of standard input is a JSON list, a method of its client and what it takes; the answer is a line
// of JSON, {"ok": what it returned} or {"error": its error}.
package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

func main() {
	options := []kgo.Opt{kgo.SeedBrokers(os.Args[1])}
	if len(os.Args) > 2 {
		options = append(options, login(os.Args[2], os.Args[3], os.Args[4])...)
	}
	client, err := kgo.NewClient(options...)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	defer client.Close()
	admin := reflect.ValueOf(kadm.NewClient(client))
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		answer, err := call(admin, lines.Bytes())
		said := map[string]any{"ok": answer}
		if err != nil {
			said = map[string]any{"error": err.Error()}
		}
		line, err := json.Marshal(said)
		if err != nil {
			line, _ = json.Marshal(map[string]any{"error": err.Error()})
		}
		fmt.Println(string(line))
	}
}

// Over TLS, to who has a certificate that an authority signed, by a name and a password.
func login(authority, name, password string) []kgo.Opt {
	roots := x509.NewCertPool()
	pem, err := os.ReadFile(authority)
	if err != nil || !roots.AppendCertsFromPEM(pem) {
		fmt.Fprintln(os.Stderr, "no certificate in", authority)
		os.Exit(1)
	}
	mechanism := scram.Auth{User: name, Pass: password}.AsSha512Mechanism()
	return []kgo.Opt{kgo.DialTLSConfig(&tls.Config{RootCAs: roots}), kgo.SASL(mechanism)}
}

func call(admin reflect.Value, line []byte) (any, error) {
	var words []json.RawMessage
	if err := json.Unmarshal(line, &words); err != nil {
		return nil, err
	}
	var name string
	if err := json.Unmarshal(words[0], &name); err != nil {
		return nil, err
	}
	method := admin.MethodByName(name)
	if !method.IsValid() {
		return nil, fmt.Errorf("kadm has no method %s", name)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	given := []reflect.Value{reflect.ValueOf(ctx)}
	for i, word := range words[1:] {
		value := reflect.New(kind(method.Type(), i+1))
		if err := json.Unmarshal(word, value.Interface()); err != nil {
			return nil, err
		}
		given = append(given, value.Elem())
	}
	found := method.Call(given)
	if err, failed := found[len(found)-1].Interface().(error); failed {
		return nil, err
	}
	return found[0].Interface(), nil
}

// The type of an argument, which may be one of those that a method takes any number of.
func kind(method reflect.Type, place int) reflect.Type {
	if last := method.NumIn() - 1; method.IsVariadic() && place >= last {
		return method.In(last).Elem()
	}
	return method.In(place)
}
