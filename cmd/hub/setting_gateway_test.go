package main

import "testing"

func TestParseSize(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{
		"1": 1, "64KiB": 64 << 10, "25 MiB": 25 << 20, "3000000000": 3_000_000_000, "1024GiB": 1 << 40, "1073741824KiB": 1 << 40,
	} {
		var got int64
		if err := parseSize(&got, text, 1, 1<<40); err != nil || got != want {
			t.Errorf("%s is %d (%v), want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "0", "-1", "1.5MiB", "64KB", "1025GiB", "1099511627777", "17179869185GiB", "-17179869183GiB"} {
		var got int64
		if err := parseSize(&got, text, 1, 1<<40); err == nil {
			t.Errorf("%s is %d, want an error", text, got)
		}
	}
}
