package main

import (
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

func newKadm(address string, who *login) (any, error) {
	options := []kgo.Opt{kgo.SeedBrokers(address)}
	if who != nil {
		mechanism := scram.Auth{User: who.name, Pass: who.password}.AsSha512Mechanism()
		options = append(options, kgo.DialTLSConfig(who.tls), kgo.SASL(mechanism))
	}
	client, err := kgo.NewClient(options...)
	if err != nil {
		return nil, err
	}
	return kadm.NewClient(client), nil
}
