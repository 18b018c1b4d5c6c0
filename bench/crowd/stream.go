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

// maxLine is the maximum size of a line of the stream in bytes.
const maxLine = 64 << 20

// streamStats counts and measures the events of a live stream of the admin API.
type streamStats struct {
	firstEvent, wholeTable time.Duration // until the first event, and until the whole table
	duration               time.Duration
	bytes                  int64
	overviews              int
	changes                int
	rows                   map[wire.SessionID]wire.Millis // time of the last change
	// ages are the ages of changes of sessions on arrival, sampleAges those of replicas' own reports.
	ages, sampleAges []time.Duration
}

// watchStream reads the live stream of a hub, with the overview and all rows, for a while.
func (e *environment) watchStream(ctx context.Context, hub int, last time.Duration) (*streamStats, error) {
	limited, cancel := context.WithTimeout(ctx, last)
	defer cancel()
	req, err := http.NewRequestWithContext(limited, http.MethodGet, e.hubs[hub].url+"/api/admin/live?rows=true", nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+e.token)
	transport := &http.Transport{DisableCompression: true}
	defer transport.CloseIdleConnections()
	begin := time.Now()
	res, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		return nil, fmt.Errorf("open live stream: %w", err)
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("open live stream: %s", res.Status)
	}
	v := &streamStats{rows: map[wire.SessionID]wire.Millis{}}
	err = v.read(res.Body, begin)
	v.duration = time.Since(begin)
	if limited.Err() != nil && ctx.Err() == nil {
		return v, nil // regular end
	}
	return v, fmt.Errorf("live stream ended early: %w", err)
}

// read reads a stream until it ends.
func (v *streamStats) read(r io.Reader, begin time.Time) error {
	in := bufio.NewScanner(r)
	in.Buffer(nil, maxLine)
	kind := ""
	for in.Scan() {
		line := in.Bytes()
		v.bytes += int64(len(line)) + 1
		if name, ok := bytes.CutPrefix(line, []byte("event: ")); ok {
			kind = string(name)
		}
		if data, ok := bytes.CutPrefix(line, []byte("data: ")); ok {
			if v.firstEvent == 0 {
				v.firstEvent = time.Since(begin)
			}
			if err := v.addEvent(kind, data, begin); err != nil {
				return err
			}
		}
	}
	return in.Err()
}

// addEvent counts one event of the stream.
func (v *streamStats) addEvent(kind string, data []byte, begin time.Time) error {
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
				v.sampleAges = append(v.sampleAges, age(r.SampledAt))
			}
		}
	case "rows":
		var rows adminview.Rows
		if err := json.Unmarshal(data, &rows); err != nil {
			return fmt.Errorf("read rows: %w", err)
		}
		for _, r := range rows.Rows {
			// Changes before the whole table has arrived have no meaningful age.
			if old, known := v.rows[r.SessionID]; v.wholeTable > 0 && known && r.UpdatedAt > old {
				v.ages = append(v.ages, age(r.UpdatedAt))
			}
			v.rows[r.SessionID] = r.UpdatedAt
		}
		v.changes += len(rows.Rows)
		for _, id := range rows.Gone {
			delete(v.rows, id)
		}
		if !rows.More && v.wholeTable == 0 {
			v.wholeTable = time.Since(begin)
		}
	case "problem":
		return fmt.Errorf("the hub ended the stream: %s", data)
	}
	return nil
}

// quantile returns the duration that the given share of all does not exceed.
func quantile(all []time.Duration, share float64) time.Duration {
	if len(all) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(all))
	return sorted[min(len(sorted)-1, int(share*float64(len(sorted))))]
}
