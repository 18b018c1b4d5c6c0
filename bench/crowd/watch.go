//go:build linux

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/everdesk/everdesk/adminview"
	"github.com/everdesk/everdesk/wire"
)

// longestLine is the most that one change may be.
const longestLine = 64 << 20

// seen is what came through a live stream.
type seen struct {
	first, whole time.Duration // until the first event, and until the whole table
	took         time.Duration
	bytes        int64
	overviews    int
	changes      int
	rows         map[wire.SessionID]wire.Millis // when each was changed last
	// ages are how old changes of sessions were when they came, samples how
	// old what replicas say of themselves was.
	ages, samples []time.Duration
}

// watch looks through a hub for a while, at the overview and all rows.
func (s *stage) watch(ctx context.Context, hub int, last time.Duration) (*seen, error) {
	limited, cancel := context.WithTimeout(ctx, last)
	defer cancel()
	req, err := http.NewRequestWithContext(limited, http.MethodGet, s.hubs[hub].url+"/api/admin/live?rows=true", nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+s.token)
	transport := &http.Transport{DisableCompression: true}
	defer transport.CloseIdleConnections()
	begin := time.Now()
	res, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		return nil, fmt.Errorf("watch: %w", err)
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("watch: %s", res.Status)
	}
	v := &seen{rows: map[wire.SessionID]wire.Millis{}}
	err = v.read(res.Body, begin)
	v.took = time.Since(begin)
	if limited.Err() != nil && ctx.Err() == nil {
		return v, nil // the time is over
	}
	return v, fmt.Errorf("watch: it ended too soon: %w", err)
}

// read takes in a stream until it ends.
func (v *seen) read(r io.Reader, begin time.Time) error {
	in := bufio.NewScanner(r)
	in.Buffer(nil, longestLine)
	kind := ""
	for in.Scan() {
		line := in.Bytes()
		v.bytes += int64(len(line)) + 1
		if name, ok := bytes.CutPrefix(line, []byte("event: ")); ok {
			kind = string(name)
		}
		if data, ok := bytes.CutPrefix(line, []byte("data: ")); ok {
			if v.first == 0 {
				v.first = time.Since(begin)
			}
			if err := v.take(kind, data, begin); err != nil {
				return err
			}
		}
	}
	return in.Err()
}

// take takes in one change.
func (v *seen) take(kind string, data []byte, begin time.Time) error {
	now := time.Now()
	age := func(at wire.Millis) time.Duration { return max(0, now.Sub(time.UnixMilli(int64(at)))) }
	switch kind {
	case "overview":
		var o adminview.Overview
		if err := json.Unmarshal(data, &o); err != nil {
			return fmt.Errorf("read an overview: %w", err)
		}
		v.overviews++
		for _, r := range o.Replicas {
			if r.SampledAt != 0 {
				v.samples = append(v.samples, age(r.SampledAt))
			}
		}
	case "rows":
		var rows adminview.Rows
		if err := json.Unmarshal(data, &rows); err != nil {
			return fmt.Errorf("read rows: %w", err)
		}
		for _, r := range rows.Rows {
			// What was there before the whole table had come is as old as it is.
			if old, known := v.rows[r.SessionID]; v.whole > 0 && known && r.UpdatedAt > old {
				v.ages = append(v.ages, age(r.UpdatedAt))
			}
			v.rows[r.SessionID] = r.UpdatedAt
		}
		v.changes += len(rows.Rows)
		for _, id := range rows.Gone {
			delete(v.rows, id)
		}
		if !rows.More && v.whole == 0 {
			v.whole = time.Since(begin)
		}
	case "problem":
		return fmt.Errorf("the hub says %s", data)
	}
	return nil
}

// quantile is what a part of the times is not longer than.
func quantile(all []time.Duration, part float64) time.Duration {
	if len(all) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(all))
	return sorted[min(len(sorted)-1, int(part*float64(len(sorted))))]
}
