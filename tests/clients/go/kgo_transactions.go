package main

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Transactions of franz-go, by the words that `transacting.py` describes.
type kgoTransactions struct {
	address   string
	producers map[string]*kgo.Client
}

func newKgoTransactions(address string, _ *login) (any, error) {
	return kgoTransactions{address, map[string]*kgo.Client{}}, nil
}

func (k kgoTransactions) Open(ctx context.Context, name string, id string, timeoutMs int) error {
	client, err := kgo.NewClient(
		kgo.SeedBrokers(k.address), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.TransactionalID(id), kgo.TransactionTimeout(time.Duration(timeoutMs)*time.Millisecond),
	)
	if err == nil {
		k.producers[name] = client
		_, _, err = client.ProducerID(ctx) // or it gets one with its first record
	}
	return err
}

func (k kgoTransactions) Send(ctx context.Context, name string, topic string, values []string) error {
	if err := k.producers[name].BeginTransaction(); err != nil {
		return err
	}
	records := []*kgo.Record{}
	for _, value := range values {
		records = append(records, &kgo.Record{Topic: topic, Value: []byte(value)})
	}
	return k.producers[name].ProduceSync(ctx, records...).FirstErr()
}

func (k kgoTransactions) End(ctx context.Context, name string, how string) error {
	return k.producers[name].EndTransaction(ctx, how == "commit")
}

func (k kgoTransactions) Pipe(
	ctx context.Context, id string, group string, source string, target string, count int, how string,
) error {
	session, err := kgo.NewGroupTransactSession(
		kgo.SeedBrokers(k.address), kgo.TransactionalID(id), kgo.ConsumerGroup(group), kgo.ConsumeTopics(source),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
	)
	if err != nil {
		return err
	}
	defer session.Close()
	if err := session.Begin(); err != nil {
		return err
	}
	for read := 0; read < count; {
		fetches := session.PollRecords(ctx, count-read)
		if err := fetches.Err(); err != nil {
			return err
		}
		for _, record := range fetches.Records() {
			value := append([]byte(id+":"), record.Value...)
			if err := session.ProduceSync(ctx, &kgo.Record{Topic: target, Value: value}).FirstErr(); err != nil {
				return err
			}
			read++
		}
	}
	committed, err := session.End(ctx, how == "commit")
	if err == nil && committed != (how == "commit") {
		return fmt.Errorf("committed: %t", committed)
	}
	return err
}

func (k kgoTransactions) Read(ctx context.Context, topic string, last string, isolation string) ([]string, error) {
	level := kgo.ReadUncommitted()
	if isolation == "read_committed" {
		level = kgo.ReadCommitted()
	}
	client, err := kgo.NewClient(
		kgo.SeedBrokers(k.address), kgo.ConsumeTopics(topic), kgo.FetchIsolationLevel(level),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
	)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	values := []string{}
	for len(values) == 0 || values[len(values)-1] != last {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return values, err
		}
		for _, record := range fetches.Records() {
			values = append(values, string(record.Value))
		}
	}
	return values, nil
}
