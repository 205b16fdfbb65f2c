package main

import (
	"context"
	"errors"
	"time"

	"github.com/IBM/sarama"
)

// Transactions of sarama, by the words that `transacting.py` describes.
type saramaTransactions struct {
	addresses []string
	producers map[string]sarama.SyncProducer
}

func newSaramaTransactions(address string, _ *login) (any, error) {
	return saramaTransactions{[]string{address}, map[string]sarama.SyncProducer{}}, nil
}

func saramaConfig() *sarama.Config {
	config := sarama.NewConfig()
	config.Version = sarama.MaxVersion
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	config.Consumer.Offsets.AutoCommit.Enable = false
	config.Consumer.IsolationLevel = sarama.ReadCommitted
	return config
}

func (s saramaTransactions) Open(name string, id string, timeoutMs int) error {
	config := saramaConfig()
	config.Net.MaxOpenRequests = 1
	config.Producer.Idempotent = true
	config.Producer.RequiredAcks = sarama.WaitForAll
	config.Producer.Return.Successes = true
	config.Producer.Transaction.ID = id
	config.Producer.Transaction.Timeout = time.Duration(timeoutMs) * time.Millisecond
	producer, err := sarama.NewSyncProducer(s.addresses, config)
	s.producers[name] = producer
	return err
}

func (s saramaTransactions) Send(name string, topic string, values []string) error {
	if err := s.producers[name].BeginTxn(); err != nil {
		return err
	}
	messages := []*sarama.ProducerMessage{}
	for _, value := range values {
		messages = append(messages, &sarama.ProducerMessage{Topic: topic, Value: sarama.StringEncoder(value)})
	}
	err := s.producers[name].SendMessages(messages)
	var failed sarama.ProducerErrors
	if errors.As(err, &failed) {
		return failed[0].Err
	}
	return err
}

func (s saramaTransactions) End(name string, how string) error {
	if how == "commit" {
		return s.producers[name].CommitTxn()
	}
	return s.producers[name].AbortTxn()
}

func (s saramaTransactions) Pipe(
	ctx context.Context, id string, group string, source string, target string, count int, how string,
) error {
	member, err := sarama.NewConsumerGroup(s.addresses, group, saramaConfig())
	if err != nil {
		return err
	}
	defer member.Close()
	pipe := &saramaPipe{saramaTransactions: s, id: id, group: group, target: target, count: count, how: how}
	for err == nil && !pipe.isDone {
		err = errors.Join(member.Consume(ctx, []string{source}, pipe), pipe.err, ctx.Err())
	}
	return err
}

type saramaPipe struct {
	saramaTransactions
	id, group, target, how string
	count                  int
	isDone                 bool
	err                    error
}

func (p *saramaPipe) Setup(sarama.ConsumerGroupSession) error   { return nil }
func (p *saramaPipe) Cleanup(sarama.ConsumerGroupSession) error { return nil }

func (p *saramaPipe) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	values := []string{}
	for message := range claim.Messages() {
		if values = append(values, p.id+":"+string(message.Value)); len(values) == p.count {
			p.isDone, p.err = true, p.end(session, message, values)
			break
		}
	}
	return nil
}

func (p *saramaPipe) end(session sarama.ConsumerGroupSession, last *sarama.ConsumerMessage, values []string) error {
	if err := p.Open(p.id, p.id, 60_000); err != nil {
		return err
	}
	if err := p.Send(p.id, p.target, values); err != nil {
		return err
	}
	metadata := sarama.NewConsumerGroupMetadataFromSession(session, p.group, nil)
	if err := p.producers[p.id].AddMessageToTxnWithGroupMetadata(last, metadata, nil); err != nil {
		return err
	}
	return p.End(p.id, p.how)
}

func (s saramaTransactions) Read(ctx context.Context, topic string, last string, isolation string) ([]string, error) {
	config := saramaConfig()
	if isolation == "read_uncommitted" {
		config.Consumer.IsolationLevel = sarama.ReadUncommitted
	}
	consumer, err := sarama.NewConsumer(s.addresses, config)
	if err != nil {
		return nil, err
	}
	defer consumer.Close()
	reading, err := consumer.ConsumePartition(topic, 0, sarama.OffsetOldest)
	if err != nil {
		return nil, err
	}
	defer reading.Close()
	values := []string{}
	for len(values) == 0 || values[len(values)-1] != last {
		select {
		case message := <-reading.Messages():
			values = append(values, string(message.Value))
		case <-ctx.Done():
			return values, ctx.Err()
		}
	}
	return values, nil
}
