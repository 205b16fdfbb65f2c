package main

import (
	"context"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Producers of franz-go, which are idempotent unless they are told otherwise, and its groups.
type kgoClient struct {
	address           string
	idempotent, plain *kgo.Client
}

func newKgo(address string, _ *login) (any, error) {
	// As by itself, but with 200 bytes without a key to a partition instead of 64 KiB.
	options := []kgo.Opt{
		kgo.SeedBrokers(address), kgo.RecordPartitioner(kgo.UniformBytesPartitioner(200, true, true, nil)),
	}
	idempotent, err := kgo.NewClient(options...)
	if err != nil {
		return nil, err
	}
	plain, err := kgo.NewClient(append(options, kgo.DisableIdempotentWrite())...)
	return kgoClient{address, idempotent, plain}, err
}

// The values of so many records, each committed. The member then stays in its group until the process ends.
func (k kgoClient) ReadGroup(group string, topic string, count int) ([]string, error) {
	client, err := kgo.NewClient(
		kgo.SeedBrokers(k.address), kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic), kgo.DisableAutoCommit(),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.SessionTimeout(6*time.Second), kgo.HeartbeatInterval(500*time.Millisecond),
	)
	values := []string{}
	for err == nil && len(values) < count {
		fetches := client.PollRecords(context.Background(), count-len(values))
		if err = fetches.Err(); err == nil {
			err = client.CommitRecords(context.Background(), fetches.Records()...)
		}
		for _, record := range fetches.Records() {
			values = append(values, string(record.Value))
		}
	}
	return values, err
}

// For each key the partition that its record is in, or the error.
func (k kgoClient) SendEach(ctx context.Context, topic string, keys []*string, idempotent bool) ([]any, error) {
	client := k.plain
	if idempotent {
		client = k.idempotent
	}
	ended := make([]any, len(keys))
	var all sync.WaitGroup
	all.Add(len(keys))
	for place, key := range keys {
		record := &kgo.Record{Topic: topic, Value: []byte("value")}
		if key != nil {
			record.Key = []byte(*key)
		}
		client.Produce(ctx, record, func(sent *kgo.Record, err error) {
			ended[place] = sent.Partition
			if err != nil {
				ended[place] = err.Error()
			}
			all.Done()
		})
	}
	all.Wait()
	return ended, nil
}
