package main

import (
	"context"
	"sync"
	"time"

	"github.com/IBM/sarama"
)

type saramaClient struct {
	sarama.ClusterAdmin
	client sarama.Client
}

func newSarama(address string, who *login) (any, error) {
	config := sarama.NewConfig()
	config.Version = sarama.MaxVersion
	config.Producer.RequiredAcks = sarama.WaitForAll
	config.Producer.Return.Successes = true
	config.Producer.Partitioner = sarama.NewManualPartitioner
	if who != nil {
		config.Net.TLS.Enable, config.Net.TLS.Config = true, who.tls
		config.Net.SASL.Enable, config.Net.SASL.User, config.Net.SASL.Password = true, who.name, who.password
	}
	client, err := sarama.NewClient([]string{address}, config)
	if err != nil {
		return nil, err
	}
	admin, err := sarama.NewClusterAdminFromClient(client)
	return saramaClient{admin, client}, err
}

// Written to all replicas that are in sync, in one go.
func (s saramaClient) Send(topic string, partition int32, values []string) (int, error) {
	producer, err := sarama.NewSyncProducerFromClient(s.client)
	if err != nil {
		return 0, err
	}
	defer producer.Close()
	messages := []*sarama.ProducerMessage{}
	for _, value := range values {
		message := &sarama.ProducerMessage{Topic: topic, Partition: partition, Value: sarama.StringEncoder(value)}
		messages = append(messages, message)
	}
	return len(messages), producer.SendMessages(messages)
}

// For each key the partition that its record is in, or the error. Keys go by hash, null in turn.
func (s saramaClient) SendEach(topic string, keys []*string, idempotent bool) ([]any, error) {
	config := *s.client.Config()
	config.Producer.Partitioner = sarama.NewHashPartitioner
	config.Producer.Return.Errors = true
	if config.Producer.Idempotent = idempotent; idempotent {
		config.Net.MaxOpenRequests = 1
	}
	addresses := []string{}
	for _, broker := range s.client.Brokers() {
		addresses = append(addresses, broker.Addr())
	}
	producer, err := sarama.NewAsyncProducer(addresses, &config)
	if err != nil {
		return nil, err
	}
	// It is closed when all have ended: one that closes sends nothing again, however the server answers.
	defer producer.Close()
	go func() {
		for place, key := range keys {
			message := &sarama.ProducerMessage{Topic: topic, Value: sarama.StringEncoder("value"), Metadata: place}
			if key != nil {
				message.Key = sarama.StringEncoder(*key)
			}
			producer.Input() <- message
		}
	}()
	ended := make([]any, len(keys))
	for range keys {
		select {
		case message := <-producer.Successes():
			ended[message.Metadata.(int)] = message.Partition
		case failed := <-producer.Errors():
			ended[failed.Msg.Metadata.(int)] = failed.Err.Error()
		}
	}
	return ended, nil
}

// The values of so many records, each committed. The member then stays in its group until the process ends.
func (s saramaClient) ReadGroup(group string, topic string, count int) ([]string, error) {
	config := *s.client.Config()
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	config.Consumer.Offsets.AutoCommit.Enable = false
	config.Consumer.Group.Session.Timeout = 6 * time.Second
	config.Consumer.Group.Heartbeat.Interval = 500 * time.Millisecond
	config.Consumer.MaxWaitTime = 50 * time.Millisecond // a commit waits for a fetch on the same connection
	addresses := []string{}
	for _, broker := range s.client.Brokers() {
		addresses = append(addresses, broker.Addr())
	}
	member, err := sarama.NewConsumerGroup(addresses, group, &config)
	if err != nil {
		return nil, err
	}
	reading := &saramaReading{count: count, all: make(chan []string, 1)}
	failed := make(chan error, 1)
	go func() {
		for {
			if err := member.Consume(context.Background(), []string{topic}, reading); err != nil {
				failed <- err
				return
			}
		}
	}()
	select {
	case values := <-reading.all:
		return values, nil
	case err := <-failed:
		return nil, err
	}
}

type saramaReading struct {
	lock   sync.Mutex
	count  int
	values []string
	all    chan []string
}

func (r *saramaReading) Setup(sarama.ConsumerGroupSession) error   { return nil }
func (r *saramaReading) Cleanup(sarama.ConsumerGroupSession) error { return nil }

func (r *saramaReading) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for message := range claim.Messages() {
		if !r.take(session, message) {
			break
		}
	}
	<-session.Context().Done()
	return nil
}

// Whether the record was one of those to read.
func (r *saramaReading) take(session sarama.ConsumerGroupSession, message *sarama.ConsumerMessage) bool {
	r.lock.Lock()
	defer r.lock.Unlock()
	if len(r.values) == r.count {
		return false
	}
	r.values = append(r.values, string(message.Value))
	session.MarkMessage(message, "")
	session.Commit()
	if len(r.values) == r.count {
		r.all <- r.values
	}
	return true
}

// The first so many values.
func (s saramaClient) Receive(ctx context.Context, topic string, partition int32, count int) ([]string, error) {
	consumer, err := sarama.NewConsumerFromClient(s.client)
	if err != nil {
		return nil, err
	}
	defer consumer.Close()
	reading, err := consumer.ConsumePartition(topic, partition, sarama.OffsetOldest)
	if err != nil {
		return nil, err
	}
	defer reading.Close()
	values := []string{}
	for len(values) < count {
		select {
		case message := <-reading.Messages():
			values = append(values, string(message.Value))
		case <-ctx.Done():
			return values, ctx.Err()
		}
	}
	return values, nil
}

// Who they are, without their connections.
func (s saramaClient) Brokers() (map[int32]string, error) {
	brokers, _, err := s.DescribeCluster()
	racks := map[int32]string{}
	for _, broker := range brokers {
		racks[broker.ID()] = broker.Rack()
	}
	return racks, err
}
