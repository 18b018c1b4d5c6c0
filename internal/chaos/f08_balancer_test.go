package chaos_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/everdesk/everdesk/internal/hubtest"
)

// balancer is an nginx in front of a cluster, configured like deploy/nginx.conf.
type balancer struct {
	url  string
	addr string
	pid  int // of the master
}

// balancerConf is a template for the folder, the address and the hubs. Each worker may open as many
// files as a process may, two for every tab.
const balancerConf = `daemon off;
pid %[1]s/nginx.pid;
error_log %[1]s/error.log warn;
worker_processes 4;
worker_rlimit_nofile 19000;
events { worker_connections 18000; }
http {
  access_log off;
  client_body_temp_path %[1]s/body;
  proxy_temp_path %[1]s/proxy;
  fastcgi_temp_path %[1]s/fastcgi;
  uwsgi_temp_path %[1]s/uwsgi;
  scgi_temp_path %[1]s/scgi;
  upstream hubs {
    least_conn;
%[3]s  }
  server {
    listen %[2]s backlog=4096;
    location / {
      proxy_pass http://hubs;
      proxy_http_version 1.1;
      proxy_set_header Upgrade $http_upgrade;
      proxy_set_header Connection "upgrade";
      proxy_set_header Host $http_host;
      proxy_connect_timeout 2s;
      proxy_next_upstream error timeout http_503;
      proxy_next_upstream_tries 3;
      proxy_read_timeout 1h;
      proxy_send_timeout 1h;
      proxy_buffering off;
    }
  }
}
`

// newBalancer starts nginx, which ends with the test.
func newBalancer(t *testing.T, f *hubtest.Cluster) *balancer {
	t.Helper()
	program, err := exec.LookPath("nginx")
	if err != nil {
		t.Fatal("nginx is missing: apt-get install nginx-light (or run make chaos as root, which does it)")
	}
	var lc net.ListenConfig
	ln, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := &balancer{addr: ln.Addr().String(), url: "http://" + ln.Addr().String()}
	if err := ln.Close(); err != nil {
		t.Fatal(err)
	}
	var hubs strings.Builder
	for _, h := range f.Hubs {
		fmt.Fprintf(&hubs, "    server %s max_fails=1 fail_timeout=2s;\n", h.Addr)
	}
	folder := t.TempDir()
	conf := filepath.Join(folder, "nginx.conf")
	if err := os.WriteFile(conf, fmt.Appendf(nil, balancerConf, folder, b.addr, hubs.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), program, "-p", folder, "-c", conf)
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM} // the master ends its workers
	if err := cmd.Start(); err != nil {
		t.Fatalf("start nginx: %v", err)
	}
	b.pid = cmd.Process.Pid
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait() // how it ends does not matter
		if t.Failed() {
			logs, err := os.ReadFile(filepath.Join(folder, "error.log"))
			t.Logf("nginx: %v\n%.4000s", err, logs)
		}
	})
	b.await(t)
	return b
}

// await waits until nginx listens.
func (b *balancer) await(t *testing.T) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	limit := time.After(time.Minute)
	var d net.Dialer
	for {
		c, err := d.DialContext(t.Context(), "tcp", b.addr)
		if err == nil {
			_ = c.Close()
			return
		}
		select {
		case <-tick.C:
		case <-limit:
			t.Fatalf("nginx does not listen: %v", err)
		}
	}
}

// cut kills all workers, and with them all connections. The master starts new ones.
func (b *balancer) cut(t *testing.T) {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", b.pid, b.pid))
	if err != nil {
		t.Fatalf("workers of nginx: %v", err)
	}
	workers := strings.Fields(string(text))
	if len(workers) == 0 {
		t.Fatal("nginx has no workers")
	}
	for _, w := range workers {
		pid, err := strconv.Atoi(w)
		if err == nil {
			err = syscall.Kill(pid, syscall.SIGKILL)
		}
		if err != nil {
			t.Fatalf("kill worker %s of nginx: %v", w, err)
		}
	}
}
