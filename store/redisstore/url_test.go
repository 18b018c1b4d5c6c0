package redisstore_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/everdesk/everdesk/store/redisstore"
)

func TestParseURL(t *testing.T) {
	t.Parallel()
	type parts struct {
		Addrs              []string
		User, Password     string
		DB                 int
		Master             string
		Cluster, Encrypted bool
	}
	for url, want := range map[string]parts{
		"redis://localhost":                            {Addrs: []string{"localhost:6379"}},
		"redis://localhost:7000":                       {Addrs: []string{"localhost:7000"}},
		"redis://localhost/":                           {Addrs: []string{"localhost:6379"}},
		"redis://127.0.0.1:1/15":                       {Addrs: []string{"127.0.0.1:1"}, DB: 15},
		"redis://[::1]:7000":                           {Addrs: []string{"[::1]:7000"}},
		"redis://[::1]":                                {Addrs: []string{"[::1]:6379"}},
		"redis://user:secret@h":                        {Addrs: []string{"h:6379"}, User: "user", Password: "secret"},
		"redis://:secret@h":                            {Addrs: []string{"h:6379"}, Password: "secret"},
		"redis://u:p%40%2F%3A@h/1":                     {Addrs: []string{"h:6379"}, User: "u", Password: "p@/:", DB: 1},
		"redis://u:p@ss@h":                             {Addrs: []string{"h:6379"}, User: "u", Password: "p@ss"},
		"rediss://h":                                   {Addrs: []string{"h:6379"}, Encrypted: true},
		"redis+sentinel://a,b:1/main":                  {Addrs: []string{"a:26379", "b:1"}, Master: "main"},
		"redis+sentinel://u:p@a/main/3":                {Addrs: []string{"a:26379"}, User: "u", Password: "p", Master: "main", DB: 3},
		"rediss+sentinel://a/main":                     {Addrs: []string{"a:26379"}, Master: "main", Encrypted: true},
		"redis+cluster://a":                            {Addrs: []string{"a:6379"}, Cluster: true},
		"redis+cluster://:p@a:1,b:2,c:3":               {Addrs: []string{"a:1", "b:2", "c:3"}, Password: "p", Cluster: true},
		"rediss+cluster://a:1,b:2":                     {Addrs: []string{"a:1", "b:2"}, Cluster: true, Encrypted: true},
		"redis+sentinel://[::1]:1,[::2]:2/master-name": {Addrs: []string{"[::1]:1", "[::2]:2"}, Master: "master-name"},
	} {
		o, err := redisstore.ParseURL(url)
		if err != nil {
			t.Errorf("%s: %v", url, err)
			continue
		}
		got := parts{
			Addrs: o.Addrs, User: o.Username, Password: o.Password, DB: o.DB, Master: o.MasterName,
			Cluster: o.IsClusterMode, Encrypted: o.TLSConfig != nil,
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: (-want +got)\n%s", url, d)
		}
		if o.MaxRetries != -1 || !o.ContextTimeoutEnabled || o.ReadTimeout <= 0 || o.DialTimeout <= 0 || o.PoolSize <= 0 {
			t.Errorf("%s: options are %+v, want no retries, timeouts of the context and a size of the pool", url, o)
		}
	}
}

func TestParseURLComplains(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"":                                "no scheme",
		"localhost:6379":                  "no scheme",
		"http://h":                        `scheme "http"`,
		"redis+ring://h":                  `scheme "redis+ring"`,
		"redis://":                        "a host is missing",
		"redis://h:port":                  "host number 1",
		"redis://h:0":                     "host number 1",
		"redis://h:65536":                 "host number 1",
		"redis://::1":                     "host number 1",
		"redis://:7000":                   "host number 1",
		"redis://a,b":                     "several hosts",
		"redis://h/x":                     `database "x"`,
		"redis://h/-1":                    `database "-1"`,
		"redis://h/1/2":                   `database "1/2"`,
		"redis://h?db=1":                  "query",
		"redis://u:secret%zz@h":           "percent-encoded",
		"redis+sentinel://a,b":            "master's name is missing",
		"redis+sentinel://a/":             "master's name is missing",
		"redis+sentinel://a/main/":        "database is missing",
		"redis+sentinel://a/main/x":       `database "x"`,
		"redis+sentinel://a,,b/main":      "a host is missing",
		"redis+cluster://a/1":             "no databases",
		"redis+cluster://u:secret@":       "a host is missing",
		"rediss://u:secret@h:port":        "host number 1",
		"redis+sentinel://u:secret@a/m/x": `database "x"`,
		"redis+cluster://a:1,u:secret:b":  "host number 2",
	} {
		_, err := redisstore.ParseURL(url)
		if err == nil {
			t.Errorf("%s: no error, want one with %q", url, want)
			continue
		}
		if !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "want redis://") {
			t.Errorf("%s: error %q, want %q in it and what is right", url, err, want)
		}
		if strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: error %q shows the password, want it hidden", url, err)
		}
	}
}
