package health

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/everdesk/everdesk/cmd/hub/internal/command"
	"github.com/everdesk/everdesk/cmd/hub/internal/remote"
)

// healthTimeout is below the usual timeout of container health checks.
const healthTimeout = 3 * time.Second

// Command returns `hub health`, which requests /healthz of the given URL, or else of the local hub
// with the same settings. It exists because the container image has no curl.
func Command() command.Command {
	return command.Command{
		Name: "health", Args: "[flags] [URL]", Help: "check whether a running hub is up; for container health checks", Run: run,
	}
}

func run(ctx context.Context, p command.Call) error {
	var wrong command.UsageErrors
	local, rest := p.Local(p.Args, p.Environ, &wrong)
	base := remote.LocalURL(local.Addr)
	if len(rest) > 0 {
		base = rest[0]
		wrong.Refuse(rest[1:])
	}
	target, err := url.Parse(base)
	if err != nil || target.Host == "" || (target.Scheme != "http" && target.Scheme != "https") {
		wrong.Add("want a URL such as http://127.0.0.1:8080; got %q", base)
	}
	if err := wrong.OrNil(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	return probe(ctx, target.JoinPath("healthz").String(), p.Stdout)
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
