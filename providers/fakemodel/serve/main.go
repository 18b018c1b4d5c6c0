package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/everdesk/everdesk/providers/fakemodel"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	listen := flag.String("listen", "127.0.0.1:9099", "where to listen")
	key := flag.String("key", "", "what requests must carry; empty takes all")
	flag.Parse()
	if err := run(ctx, os.Stdout, *listen, *key); err != nil {
		fmt.Fprintln(os.Stderr, "serve:", err)
		os.Exit(1)
	}
}

// run serves until the context ends.
func run(ctx context.Context, out io.Writer, listen, key string) error {
	s := fakemodel.New()
	s.Key = key
	url, err := s.Listen(ctx, listen)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "A fake model listens.\n  ANTHROPIC_BASE_URL=%s\n  OPENAI_BASE_URL=%s/v1\n", url, url)
	<-ctx.Done()
	s.Close()
	return nil
}
