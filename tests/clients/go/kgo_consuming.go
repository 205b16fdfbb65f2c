package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

var saying sync.Mutex

func say(name, what string, detail any) {
	line, _ := json.Marshal([]any{name, what, detail})
	saying.Lock()
	defer saying.Unlock()
	fmt.Println(string(line))
}

// Members of groups, of franz-go, until the input ends. `consuming.py` describes the lines.
func consume(address string) {
	closing := map[string]context.CancelFunc{}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var words []json.RawMessage
		var verb, name string
		json.Unmarshal(lines.Bytes(), &words)
		json.Unmarshal(words[0], &verb)
		json.Unmarshal(words[1], &name)
		if verb == "close" {
			closing[name]()
			continue
		}
		var settings map[string]any
		var topics []string
		json.Unmarshal(words[2], &settings)
		options := append(asOptions(settings), kgo.SeedBrokers(address))
		if json.Unmarshal(words[3], &topics) != nil {
			topics = make([]string, 1)
			json.Unmarshal(words[3], &topics[0])
			options = append(options, kgo.ConsumeRegex())
		}
		ctx, cancel := context.WithCancel(context.Background())
		closing[name] = cancel
		go member(ctx, name, append(options, kgo.ConsumeTopics(topics...)))
	}
}

// The settings have the names of Kafka's consumer.
func asOptions(settings map[string]any) []kgo.Opt {
	options := []kgo.Opt{
		kgo.DisableAutoCommit(), kgo.BlockRebalanceOnPoll(), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
	}
	for key, value := range settings {
		text := fmt.Sprint(value)
		switch {
		case key == "group.id":
			options = append(options, kgo.ConsumerGroup(text))
		case key == "group.instance.id":
			options = append(options, kgo.InstanceID(text))
		case key == "group.protocol" && text == "consumer":
			options = append(options, kgo.ServerSideBalancer(), kgo.Balancers(kgo.StickyBalancer()))
		case key == "session.timeout.ms":
			options = append(options, kgo.SessionTimeout(time.Duration(value.(float64))*time.Millisecond))
		case key == "heartbeat.interval.ms":
			options = append(options, kgo.HeartbeatInterval(time.Duration(value.(float64))*time.Millisecond))
		case key == "partition.assignment.strategy" && strings.Contains(text, "cooperative"):
			options = append(options, kgo.Balancers(kgo.CooperativeStickyBalancer()))
		case key == "partition.assignment.strategy":
			options = append(options, kgo.Balancers(kgo.RangeBalancer()))
		}
	}
	return options
}

func member(ctx context.Context, name string, options []kgo.Opt) {
	heard := func(what string) func(context.Context, *kgo.Client, map[string][]int32) {
		return func(_ context.Context, _ *kgo.Client, partitions map[string][]int32) {
			rows := [][]any{}
			for topic, numbers := range partitions {
				for _, number := range numbers {
					rows = append(rows, []any{topic, number})
				}
			}
			say(name, what, rows)
		}
	}
	options = append(options, kgo.OnPartitionsAssigned(heard("assigned")), kgo.OnPartitionsRevoked(heard("revoked")))
	client, err := kgo.NewClient(append(options, kgo.OnPartitionsLost(heard("lost")))...)
	if err != nil {
		say(name, "failed", err.Error())
		return
	}
	for ctx.Err() == nil {
		fetches := client.PollFetches(ctx)
		fetches.EachError(func(_ string, _ int32, err error) {
			if ctx.Err() == nil {
				say(name, "failed", err.Error())
			}
		})
		fetches.EachRecord(func(each *kgo.Record) {
			say(name, "read", []any{each.Topic, each.Partition, each.Offset, string(each.Value)})
		})
		if fetches.NumRecords() > 0 {
			if err := client.CommitRecords(context.Background(), fetches.Records()...); err != nil {
				say(name, "uncommitted", err.Error()) // the next commit says more
			}
		}
		client.AllowRebalance()
	}
	client.CloseAllowingRebalance()
	say(name, "closed", [][]any{})
}
