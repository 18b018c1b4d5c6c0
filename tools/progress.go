package tools

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/everdesk/everdesk/mcpclient"
)

// progressInterval is the least time between two reports of the progress of a call: each is an event of the session.
const progressInterval = time.Second

// reportProgress returns a function that reports the progress of the call to the session, without blocking, and one
// that ends it. Reports that come too fast are left out, except the newest.
func (u serverCall) reportProgress(ctx context.Context) (report func(mcpclient.Progress), stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	newest := make(chan string, 1)
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case text := <-newest:
				if u.Desktop.Steps.ReportProgress(ctx, u.Caller, u.call, text) != nil {
					return // the turn is over
				}
			case <-ctx.Done():
				return
			}
			select {
			case <-time.After(progressInterval):
			case <-ctx.Done():
				return
			}
		}
	})
	report = func(p mcpclient.Progress) {
		select {
		case <-newest:
		default:
		}
		select {
		case newest <- progressText(p):
		default: // another report was faster
		}
	}
	return report, func() {
		cancel()
		wg.Wait()
	}
}

// progressText describes the progress of a call to people, such as "Reading files (3 of 10)".
func progressText(p mcpclient.Progress) string {
	amount := fmt.Sprintf("%.10g", p.Done)
	if p.Total > 0 {
		amount += fmt.Sprintf(" of %.10g", p.Total)
	}
	message := strings.TrimSpace(visible(p.Message))
	if message == "" {
		return amount
	}
	return fmt.Sprintf("%s (%s)", message, amount)
}
