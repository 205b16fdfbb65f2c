package main

import (
	"context"

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
