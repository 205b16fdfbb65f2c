package main

import (
	"context"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/sasl/plain"
)

type kafkaGo struct {
	*kafka.Client
	address string
}

func newKafkaGo(address string, who *login) (any, error) {
	transport := &kafka.Transport{MetadataTTL: 100 * time.Millisecond}
	if who != nil {
		transport.TLS, transport.SASL = who.tls, plain.Mechanism{Username: who.name, Password: who.password}
	}
	client := &kafka.Client{Addr: kafka.TCP(address), Timeout: 30 * time.Second, Transport: transport}
	return kafkaGo{client, address}, nil
}

// Written to all replicas that are in sync, one after the other.
func (k kafkaGo) Send(ctx context.Context, topic string, partition int, values []string) (int, error) {
	there := kafka.BalancerFunc(func(kafka.Message, ...int) int { return partition })
	writer := kafka.Writer{Addr: k.Addr, Topic: topic, Balancer: there, RequiredAcks: kafka.RequireAll}
	writer.BatchTimeout = time.Millisecond
	defer writer.Close()
	messages := []kafka.Message{}
	for _, value := range values {
		messages = append(messages, kafka.Message{Value: []byte(value)})
	}
	return len(messages), writer.WriteMessages(ctx, messages...)
}

// The values of so many records, each committed. The member then stays in its group until the process ends.
func (k kafkaGo) ReadGroup(group string, topic string, count int) ([]string, error) {
	reader := kafka.NewReader(kafka.ReaderConfig{
		Brokers: []string{k.address}, GroupID: group, Topic: topic, StartOffset: kafka.FirstOffset,
		SessionTimeout: 6 * time.Second, HeartbeatInterval: 500 * time.Millisecond, MaxWait: 100 * time.Millisecond,
	})
	values := []string{}
	for range count {
		message, err := reader.FetchMessage(context.Background())
		if err == nil {
			err = reader.CommitMessages(context.Background(), message)
		}
		if err != nil {
			return nil, err
		}
		values = append(values, string(message.Value))
	}
	return values, nil
}

// The first so many values.
func (k kafkaGo) Receive(ctx context.Context, topic string, partition int, count int) ([]string, error) {
	place := kafka.ReaderConfig{Brokers: []string{k.address}, Topic: topic, Partition: partition}
	place.MaxWait = 100 * time.Millisecond
	reader := kafka.NewReader(place)
	defer reader.Close()
	values := []string{}
	for range count {
		message, err := reader.ReadMessage(ctx)
		if err != nil {
			return nil, err
		}
		values = append(values, string(message.Value))
	}
	return values, nil
}
