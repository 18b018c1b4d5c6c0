package main

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/everdesk/everdesk/cmd/hub/internal/command"
)

// labels are labels of Kubernetes.
type labels map[string]string

// matches reports whether the selector selects an object with these labels. An empty selector
// selects none.
func (l labels) matches(selector labels) bool {
	for name, value := range selector {
		if l[name] != value {
			return false
		}
	}
	return len(selector) > 0
}

type selector struct {
	MatchLabels labels `yaml:"matchLabels"`
}

type podProbe struct {
	HTTPGet struct {
		Path string `yaml:"path"`
		Port string `yaml:"port"`
	} `yaml:"httpGet"`
	PeriodSeconds    int `yaml:"periodSeconds"`
	TimeoutSeconds   int `yaml:"timeoutSeconds"`
	FailureThreshold int `yaml:"failureThreshold"`
}

type named struct {
	Name string `yaml:"name"`
}

type mount struct {
	MountPath string `yaml:"mountPath"`
}

type container struct {
	Name  string `yaml:"name"`
	Ports []struct {
		Name          string `yaml:"name"`
		ContainerPort int    `yaml:"containerPort"`
	} `yaml:"ports"`
	Env []struct {
		Name      string `yaml:"name"`
		Value     string `yaml:"value"`
		ValueFrom any    `yaml:"valueFrom"`
	} `yaml:"env"`
	EnvFrom []struct {
		ConfigMapRef named `yaml:"configMapRef"`
		SecretRef    named `yaml:"secretRef"`
	} `yaml:"envFrom"`
	StartupProbe   podProbe `yaml:"startupProbe"`
	LivenessProbe  podProbe `yaml:"livenessProbe"`
	ReadinessProbe podProbe `yaml:"readinessProbe"`
	Lifecycle      struct {
		PreStop struct {
			Sleep struct {
				Seconds int `yaml:"seconds"`
			} `yaml:"sleep"`
		} `yaml:"preStop"`
	} `yaml:"lifecycle"`
	VolumeMounts []mount `yaml:"volumeMounts"`
}

// manifest holds the fields of any Kubernetes object that these tests use.
type manifest struct {
	APIVersion string            `yaml:"apiVersion"`
	Kind       string            `yaml:"kind"`
	Metadata   named             `yaml:"metadata"`
	Data       map[string]string `yaml:"data"`
	StringData map[string]string `yaml:"stringData"`
}

// deployment holds the fields of a Deployment that these tests check.
type deployment struct {
	Spec struct {
		Selector selector `yaml:"selector"`
		Template struct {
			Metadata struct {
				Labels      labels            `yaml:"labels"`
				Annotations map[string]string `yaml:"annotations"`
			} `yaml:"metadata"`
			Spec struct {
				Grace      int         `yaml:"terminationGracePeriodSeconds"`
				Containers []container `yaml:"containers"`
				Volumes    []struct {
					Name  string `yaml:"name"`
					Claim struct {
						ClaimName string `yaml:"claimName"`
					} `yaml:"persistentVolumeClaim"`
				} `yaml:"volumes"`
				Spread []struct {
					LabelSelector selector `yaml:"labelSelector"`
				} `yaml:"topologySpreadConstraints"`
			} `yaml:"spec"`
		} `yaml:"template"`
	} `yaml:"spec"`
}

type service struct {
	Spec struct {
		Selector labels `yaml:"selector"`
		Ports    []struct {
			Name       string `yaml:"name"`
			Port       int    `yaml:"port"`
			TargetPort string `yaml:"targetPort"`
		} `yaml:"ports"`
	} `yaml:"spec"`
}

type budget struct {
	Spec struct {
		Selector selector `yaml:"selector"`
	} `yaml:"spec"`
}

type ingress struct {
	Spec struct {
		Rules []struct {
			Host string `yaml:"host"`
			HTTP struct {
				Paths []struct {
					Backend struct {
						Service struct {
							Name string `yaml:"name"`
							Port named  `yaml:"port"`
						} `yaml:"service"`
					} `yaml:"backend"`
				} `yaml:"paths"`
			} `yaml:"http"`
		} `yaml:"rules"`
	} `yaml:"spec"`
}

// cluster holds all objects of deploy/kubernetes, by kind and name.
type cluster map[string]yaml.Node

func readCluster(t *testing.T) cluster {
	t.Helper()
	names, err := filepath.Glob("../../deploy/kubernetes/*.yaml")
	if err != nil || len(names) < 4 {
		t.Fatalf("manifests: got %q, error %v, want at least four", names, err)
	}
	all := cluster{}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		d := yaml.NewDecoder(bytes.NewReader(text)) // refuses duplicate keys
		for {
			var n yaml.Node
			if err := d.Decode(&n); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: got error %v, want YAML", name, err)
			}
			var m manifest
			if err := n.Decode(&m); err != nil {
				t.Fatalf("%s: got error %v, want a manifest", name, err)
			}
			key := m.Kind + " " + m.Metadata.Name
			if _, twice := all[key]; twice || m.APIVersion == "" || m.Kind == "" || m.Metadata.Name == "" {
				t.Errorf("%s: got %q twice or without kind, name or version, want it once and whole", name, key)
			}
			all[key] = n
		}
	}
	return all
}

func get[T any](t *testing.T, all cluster, key string) T {
	t.Helper()
	var into T
	n, ok := all[key]
	if !ok {
		t.Fatalf("manifests: got %q, want %s among them", slices.Sorted(maps.Keys(all)), key)
	}
	if err := n.Decode(&into); err != nil {
		t.Fatalf("%s: got error %v, want a %T", key, err, into)
	}
	return into
}

// The environment of the pods contains only valid settings, which fit the other objects.
func TestKubernetesSettings(t *testing.T) {
	t.Parallel()
	all := readCluster(t)
	pod := get[deployment](t, all, "Deployment everdesk").Spec.Template.Spec
	hub := pod.Containers[0]
	var environ []string
	add := func(of map[string]string) {
		for name, value := range of {
			environ = append(environ, name+"="+value)
		}
	}
	for _, from := range hub.EnvFrom {
		if name := from.ConfigMapRef.Name; name != "" {
			add(get[manifest](t, all, "ConfigMap "+name).Data)
		}
		if name := from.SecretRef.Name; name != "" {
			add(get[manifest](t, all, "Secret "+name).StringData)
		}
	}
	for _, e := range hub.Env {
		if e.ValueFrom != nil {
			e.Value = "everdesk-7c9bf5d6fd-x2x4z" // the name of a pod
		}
		environ = append(environ, e.Name+"="+e.Value)
	}
	var wrong command.UsageErrors
	cfg, _ := load(nil, environ, &wrong)
	for _, complaint := range wrong {
		t.Errorf("settings: got the complaint %v, want none", complaint)
	}
	if cfg.replica == "" || cfg.store.kind != redisStore {
		t.Errorf("settings: got replica %q and store %q, want a replica and %q", cfg.replica, cfg.store.kind, redisStore)
	}
	ports := map[string]string{}
	for _, p := range hub.Ports {
		ports[p.Name] = net.JoinHostPort("0.0.0.0", strconv.Itoa(p.ContainerPort))
	}
	if ports["hub"] != cfg.addr || ports["apps"] != cfg.apps || ports["admin"] != cfg.admin {
		t.Errorf("ports of the pod: got %v, want those of the hub, %s, %s and %s", ports, cfg.addr, cfg.apps, cfg.admin)
	}
	asked := get[deployment](t, all, "Deployment everdesk").Spec.Template.Metadata.Annotations
	if _, port, _ := net.SplitHostPort(cfg.admin); asked["prometheus.io/port"] != port || asked["prometheus.io/scrape"] != "true" {
		t.Errorf("annotations for Prometheus: got %v, want scraping at %s", asked, cfg.admin)
	}
	sleep := time.Duration(hub.Lifecycle.PreStop.Sleep.Seconds) * time.Second
	if grace := time.Duration(pod.Grace) * time.Second; sleep == 0 || sleep+cfg.grace+5*time.Second > grace {
		t.Errorf("%v of sleep and %v of grace do not fit into %v", sleep, cfg.grace, grace)
	}
	mounted := slices.ContainsFunc(hub.VolumeMounts, func(m mount) bool { return m.MountPath == cfg.filesFolder() })
	if !mounted {
		t.Errorf("volumes: got none at %s, want one", cfg.filesFolder())
	}
	get[manifest](t, all, "PersistentVolumeClaim "+pod.Volumes[0].Claim.ClaimName)
}

// All selectors select the hub's pods, and all ports and paths that are referred to exist.
func TestKubernetesFitsTogether(t *testing.T) {
	t.Parallel()
	all := readCluster(t)
	d := get[deployment](t, all, "Deployment everdesk")
	pod := d.Spec.Template.Metadata.Labels
	svc := get[service](t, all, "Service everdesk")
	for name, s := range map[string]labels{
		"deployment": d.Spec.Selector.MatchLabels,
		"service":    svc.Spec.Selector,
		"budget":     get[budget](t, all, "PodDisruptionBudget everdesk").Spec.Selector.MatchLabels,
		"spread":     d.Spec.Template.Spec.Spread[0].LabelSelector.MatchLabels,
	} {
		if !pod.matches(s) {
			t.Errorf("labels of the pods: got %v, want those the %s selects, %v", pod, name, s)
		}
	}
	hub := d.Spec.Template.Spec.Containers[0]
	var ports []string
	for _, p := range hub.Ports {
		ports = append(ports, p.Name)
	}
	for name, p := range map[string]podProbe{"startup": hub.StartupProbe, "liveness": hub.LivenessProbe, "readiness": hub.ReadinessProbe} {
		want := "/healthz"
		if name == "readiness" {
			want = "/readyz"
		}
		if p.HTTPGet.Path != want || p.HTTPGet.Port != "hub" || p.PeriodSeconds == 0 || p.FailureThreshold == 0 {
			t.Errorf("%s probe: got %+v, want %s at port hub with a period and a threshold", name, p, want)
		}
	}
	// The hub takes 2 s to detect that its store is unavailable.
	if hub.ReadinessProbe.TimeoutSeconds <= 2 {
		t.Error("readiness probe gives up before the hub answers")
	}
	var served []string
	for _, p := range svc.Spec.Ports {
		served = append(served, p.Name)
		if !slices.Contains(ports, p.TargetPort) {
			t.Errorf("port of the service: got %q, want one of %q", p.TargetPort, ports)
		}
	}
	for _, r := range get[ingress](t, all, "Ingress everdesk").Spec.Rules {
		back := r.HTTP.Paths[0].Backend.Service
		if back.Name != "everdesk" || !slices.Contains(served, back.Port.Name) {
			t.Errorf("backend of %s: got %+v, want the service everdesk with one of the ports %q", r.Host, back, served)
		}
	}
	trial := get[deployment](t, all, "StatefulSet everdesk-redis").Spec
	if l := trial.Template.Metadata.Labels; !l.matches(get[service](t, all, "Service everdesk-redis").Spec.Selector) || l.matches(svc.Spec.Selector) {
		t.Errorf("the labels of the trial Redis, %v, do not fit the services", l)
	}
}

// The stop timeout of the unit is longer than the hub's grace period, and the environment file
// contains only valid settings, also in its comments.
func TestSystemdUnit(t *testing.T) {
	t.Parallel()
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join("../../deploy/systemd", name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	var environ []string
	seen := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^#?(HUB_[A-Z_]+)=(.*)$`).FindAllStringSubmatch(read("everdesk.env"), -1) {
		if !seen[m[1]] {
			environ = append(environ, m[1]+"="+m[2])
		}
		seen[m[1]] = true
	}
	var wrong command.UsageErrors
	cfg, _ := load(nil, environ, &wrong)
	for _, complaint := range wrong {
		t.Errorf("settings: got the complaint %v, want none", complaint)
	}
	unit := map[string]string{}
	for line := range strings.Lines(read("everdesk.service")) {
		line = strings.TrimSpace(line)
		name, value, ok := strings.Cut(line, "=")
		if ok && !strings.HasPrefix(line, "#") {
			unit[name] = value
		} else if line != "" && !strings.HasPrefix(line, "#") && !strings.HasPrefix(line, "[") {
			t.Errorf("unit: got the line %q, want a section, a comment or a setting", line)
		}
	}
	stop, err := time.ParseDuration(unit["TimeoutStopSec"] + "s")
	if err != nil || stop < cfg.grace+5*time.Second {
		t.Errorf("stop timeout: got %v, error %v, want at least 5 s more than the grace period %v", stop, err, cfg.grace)
	}
	if folder := "/var/lib/" + unit["StateDirectory"] + "/"; !strings.HasPrefix(cfg.store.folder, folder) {
		t.Errorf("the store is in %s and not below %s", cfg.store.folder, folder)
	}
	if unit["KillSignal"] != "SIGTERM" || unit["DynamicUser"] != "yes" {
		t.Errorf("unit: got %v, want KillSignal=SIGTERM and DynamicUser=yes", unit)
	}
}
