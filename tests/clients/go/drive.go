// Clients in Go, unmodified; arguments: which of them, the address, and where one has to log in, a file with the
// authority's certificate, a name and a password. A line of standard input is a JSON list, a method of the client and what
// it takes; the answer is a line of JSON, {"ok": what it returned} or {"error": its error}.
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
)

// Over TLS, to who has a certificate that an authority signed, by a name and a password.
type login struct {
	tls            *tls.Config
	name, password string
}

var clients = map[string]func(address string, who *login) (any, error){
	"kadm":     newKadm,
	"kafka-go": newKafkaGo,
	"kgo":      newKgo,
	"sarama":   newSarama,

	"franz-go transactions": newKgoTransactions,
	"sarama transactions":   newSaramaTransactions,
}

func main() {
	var who *login
	if len(os.Args) > 3 {
		who = &login{trusting(os.Args[3]), os.Args[4], os.Args[5]}
	}
	if os.Args[1] == "franz-go consuming" {
		consume(os.Args[2])
		return
	}
	client, err := clients[os.Args[1]](os.Args[2], who)
	if err != nil {
		client = nil // it says so to whatever is asked
	}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		answer, failed := any(nil), err
		if failed == nil {
			answer, failed = call(reflect.ValueOf(client), lines.Bytes())
		}
		said := map[string]any{"ok": answer}
		if failed != nil {
			said = map[string]any{"error": failed.Error()}
		}
		line, failed := json.Marshal(said)
		if failed != nil {
			line, _ = json.Marshal(map[string]any{"error": failed.Error()})
		}
		fmt.Println(string(line))
	}
}

func trusting(authority string) *tls.Config {
	roots := x509.NewCertPool()
	pem, err := os.ReadFile(authority)
	if err != nil || !roots.AppendCertsFromPEM(pem) {
		fmt.Fprintln(os.Stderr, "no certificate in", authority)
		os.Exit(1)
	}
	return &tls.Config{RootCAs: roots}
}

var (
	ofContext = reflect.TypeOf((*context.Context)(nil)).Elem()
	ofError   = reflect.TypeOf((*error)(nil)).Elem()
)

func call(client reflect.Value, line []byte) (any, error) {
	var words []json.RawMessage
	if err := json.Unmarshal(line, &words); err != nil {
		return nil, err
	}
	var name string
	if err := json.Unmarshal(words[0], &name); err != nil {
		return nil, err
	}
	method := client.MethodByName(name)
	if !method.IsValid() {
		return nil, fmt.Errorf("%s has no method %s", client.Type(), name)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	given := []reflect.Value{}
	if kind := method.Type(); kind.NumIn() > 0 && kind.In(0) == ofContext {
		given = append(given, reflect.ValueOf(ctx))
	}
	for _, word := range words[1:] {
		value := reflect.New(kind(method.Type(), len(given)))
		if err := json.Unmarshal(word, value.Interface()); err != nil {
			return nil, err
		}
		given = append(given, value.Elem())
	}
	found := method.Call(given)
	if err, failed := found[len(found)-1].Interface().(error); failed {
		return nil, err
	}
	return told(found[0]), nil
}

// The type of an argument, which may be one of those that a method takes any number of.
func kind(method reflect.Type, place int) reflect.Type {
	if last := method.NumIn() - 1; method.IsVariadic() && place >= last {
		return method.In(last).Elem()
	}
	return method.In(place)
}

// As JSON can say it: errors that say nothing there are their words.
func told(value reflect.Value) any {
	if value.Type() == ofError {
		err, failed := value.Interface().(error)
		if _, says := err.(json.Marshaler); !failed || says || hasFields(err) {
			return value.Interface()
		}
		return err.Error()
	}
	switch value.Kind() {
	case reflect.Pointer, reflect.Interface:
		if value.IsNil() {
			return nil
		}
		return told(value.Elem())
	case reflect.Struct:
		fields := map[string]any{}
		for i := range value.NumField() {
			if value.Type().Field(i).IsExported() {
				fields[value.Type().Field(i).Name] = told(value.Field(i))
			}
		}
		return fields
	case reflect.Map:
		rows := map[string]any{}
		for _, key := range value.MapKeys() {
			rows[fmt.Sprint(key.Interface())] = told(value.MapIndex(key))
		}
		return rows
	case reflect.Slice:
		rows := []any{}
		for i := range value.Len() {
			rows = append(rows, told(value.Index(i)))
		}
		return rows
	}
	return value.Interface()
}

func hasFields(err error) bool {
	value := reflect.Indirect(reflect.ValueOf(err))
	return value.Kind() == reflect.Struct && value.NumField() > 0 && value.Type().Field(0).IsExported()
}
