package main

import (
	"slices"
	"testing"

	"github.com/everdesk/everdesk/cmd/hub/internal/command"
)

func TestLocalHub(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		args    []string
		environ []string
		want    command.Local
	}{
		"defaults": {want: command.Local{Addr: "127.0.0.1:8080", Folder: "./everdesk-data"}},
		"flags":    {args: []string{"--store", "file:/data", "--admin-addr=:2"}, want: command.Local{Addr: "127.0.0.1:8080", AdminAddr: ":2", Folder: "/data"}},
		"variable": {environ: []string{"HUB_ADDR=127.0.0.1:9"}, want: command.Local{Addr: "127.0.0.1:9", Folder: "./everdesk-data"}},
		"Redis":    {args: []string{"--store", "redis://127.0.0.1:1"}, want: command.Local{Addr: "127.0.0.1:8080"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var wrong command.UsageErrors
			got, rest := localHub(append(tt.args, "rest"), tt.environ, &wrong)
			if got != tt.want || !slices.Equal(rest, []string{"rest"}) || wrong != nil {
				t.Errorf("got %+v, %q, %v, want %+v", got, rest, wrong, tt.want)
			}
		})
	}
	var wrong command.UsageErrors
	if localHub([]string{"--dance"}, nil, &wrong); len(wrong) != 1 {
		t.Errorf("an unknown setting: got %v, want one mistake", wrong)
	}
}
