package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// healthTimeout is below the usual timeout of container health checks.
const healthTimeout = 3 * time.Second

// health requests /healthz of the given URL, or else of the local hub with the same
// settings. It exists because the container image has no curl.
func health(ctx context.Context, p program) error {
	var wrong complaints
	flags, rest := parseFlags(p.args, &wrong)
	cfg, _ := load(flags, p.environ, &wrong)
	base := localURL(cfg.addr)
	if len(rest) > 0 {
		base = rest[0]
		refuse(rest[1:], &wrong)
	}
	target, err := url.Parse(base)
	if err != nil || target.Host == "" || (target.Scheme != "http" && target.Scheme != "https") {
		wrong.add("want a URL such as http://127.0.0.1:8080; got %q", base)
	}
	if err := wrong.orNil(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	return probe(ctx, target.JoinPath("healthz").String(), p.stdout)
}

func probe(ctx context.Context, target string, stdout io.Writer) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if err != nil {
		return fmt.Errorf("ask %s: %w", target, err)
	}
	transport := &http.Transport{DisableKeepAlives: true} // ignores proxy settings
	res, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, 4<<10))
	if err != nil {
		return fmt.Errorf("read answer of %s: %w", target, err)
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answered %s: %s", target, res.Status, body)
	}
	fmt.Fprintf(stdout, "%s\n", strings.TrimSpace(string(body)))
	return nil
}

// localURL returns the URL of a hub on this machine that listens on addr.
func localURL(addr string) string {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return addr
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(host, port)
}
