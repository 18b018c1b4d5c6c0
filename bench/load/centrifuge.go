//go:build linux

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/centrifugal/centrifuge"

	"github.com/everdesk/everdesk/bench/rig"
)

const (
	// centrifugeReady begins the line that the node prints when it listens.
	centrifugeReady = "centrifuge is running: http://"
	centrifugePath  = "/connection/websocket"
	// The history of a channel, from which tabs recover what they missed.
	centrifugeHistory    = 1000
	centrifugeHistoryTTL = time.Hour
)

// runCentrifuge serves a node of the Centrifuge library until ctx ends: a channel per session, with
// history and recovery, in memory or in the Redis at the URL in args.
func runCentrifuge(ctx context.Context, stdout io.Writer, args []string) error {
	node, err := newCentrifugeNode(args)
	if err != nil {
		return fmt.Errorf("make a Centrifuge node: %w", err)
	}
	if err := node.Run(); err != nil {
		return fmt.Errorf("run the Centrifuge node: %w", err)
	}
	defer func() { _ = node.Shutdown(context.WithoutCancel(ctx)) }()
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	mux := http.NewServeMux()
	mux.Handle(centrifugePath, centrifuge.NewWebsocketHandler(node, centrifuge.WebsocketConfig{UseWriteBufferPool: true}))
	server := &http.Server{Handler: mux, ReadHeaderTimeout: rig.ReplyTimeout}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	fmt.Fprintf(stdout, "%s%s\n", centrifugeReady, ln.Addr())
	if err := server.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve: %w", err)
	}
	return nil
}

// newCentrifugeNode makes a node on Redis if args has its URL.
func newCentrifugeNode(args []string) (*centrifuge.Node, error) {
	node, err := centrifuge.New(centrifuge.Config{})
	if err != nil {
		return nil, err
	}
	if len(args) > 0 {
		shard, err := centrifuge.NewRedisShard(node, centrifuge.RedisShardConfig{Address: args[0]})
		if err != nil {
			return nil, err
		}
		broker, err := centrifuge.NewRedisBroker(node, centrifuge.RedisBrokerConfig{Shards: []*centrifuge.RedisShard{shard}})
		if err != nil {
			return nil, err
		}
		node.SetBroker(broker)
	}
	node.OnConnecting(func(_ context.Context, e centrifuge.ConnectEvent) (centrifuge.ConnectReply, error) {
		subs := map[string]centrifuge.SubscribeOptions{}
		for _, channel := range e.Channels {
			subs[channel] = centrifuge.SubscribeOptions{EnableRecovery: true}
		}
		return centrifuge.ConnectReply{Credentials: &centrifuge.Credentials{}, Subscriptions: subs}, nil
	})
	publish := func(channel string, data []byte) (centrifuge.PublishResult, error) {
		return node.Publish(channel, data, centrifuge.WithHistory(centrifugeHistory, centrifugeHistoryTTL))
	}
	node.OnConnect(func(client *centrifuge.Client) {
		client.OnPublish(func(e centrifuge.PublishEvent, cb centrifuge.PublishCallback) {
			result, err := publish(e.Channel, e.Data)
			cb(centrifuge.PublishReply{Result: &result}, err)
		})
		// The method of a call is the channel of a session whose agent answers.
		client.OnRPC(func(e centrifuge.RPCEvent, cb centrifuge.RPCCallback) {
			go func() { // ends with the answer of the model or with the process
				err := streamAnswer(client.Context(), e.Data, func(data []byte) error {
					_, err := publish(e.Method, data)
					return err
				})
				cb(centrifuge.RPCReply{}, err)
			}()
		})
	})
	return node, nil
}

// streamAnswer publishes the tokens of a model, one by one. url is a JSON string.
func streamAnswer(ctx context.Context, url []byte, publish func([]byte) error) error {
	var model string
	if err := json.Unmarshal(url, &model); err != nil {
		return fmt.Errorf("decode the address of the model: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, model, http.NoBody)
	if err != nil {
		return fmt.Errorf("call the model: %w", err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("call the model: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		var chunk struct {
			Choices []struct {
				Delta struct {
					Content string `json:"content"`
				} `json:"delta"`
			} `json:"choices"`
		}
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok || json.Unmarshal([]byte(data), &chunk) != nil || len(chunk.Choices) == 0 {
			continue
		}
		token, err := json.Marshal(chunk.Choices[0].Delta.Content)
		if err != nil {
			return fmt.Errorf("encode a token: %w", err)
		}
		if err := publish(token); err != nil {
			return fmt.Errorf("publish a token: %w", err)
		}
	}
	return nil
}
