package gateway_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/everdesk/everdesk/gateway/rest"
	"github.com/everdesk/everdesk/profiles"
	"github.com/everdesk/everdesk/wire"
)

// fakeBackends has one backend. Its server has a model with the name of the user and the key.
type fakeBackends struct{}

func (fakeBackends) List(context.Context) []rest.Backend {
	return []rest.Backend{{Backend: "demo", Label: "Demo", Kind: rest.KindLocal, Found: true}}
}

func (fakeBackends) Models(_ context.Context, user string, p profiles.Profile, key string) ([]rest.Model, *rest.ModelFailure) {
	if p.Backend != "demo" {
		return nil, &rest.ModelFailure{Class: "invalid", Detail: "There is no " + p.Backend}
	}
	return []rest.Model{{ID: user + " " + p.BaseURL + " " + p.Secret + " " + key, Name: "one"}}, nil
}

func (fakeBackends) Test(_ context.Context, user string, p profiles.Profile, key string) (rest.ModelTest, *rest.ModelFailure) {
	if p.Model == "" {
		return rest.ModelTest{}, &rest.ModelFailure{Class: "auth", Detail: "no"}
	}
	return rest.ModelTest{Answer: user + " " + p.Model + " " + key, Milliseconds: 7, CostUnknown: true}, nil
}

func TestBackends(t *testing.T) {
	t.Parallel()
	h := newTestHub(t, func(p *hubOptions) { p.limits.Off, p.limits.Probes = false, 4 })
	ada := h.userToken("ada")
	var list struct{ Backends []rest.Backend }
	h.rest(http.MethodGet, "/api/backends", request{token: ada}).wantStatus(http.StatusOK).decode(&list)
	if len(list.Backends) != 1 || list.Backends[0].Backend != "demo" || !list.Backends[0].Found {
		t.Errorf("the backends are %+v, want the demo", list.Backends)
	}
	var models struct {
		Models  []rest.Model
		Failure *rest.ModelFailure
	}
	h.post("/api/backends/demo/models", ada, `{"baseUrl":"u","secret":"s","key":"k"}`).wantStatus(http.StatusOK).decode(&models)
	if len(models.Models) != 1 || models.Models[0].ID != "ada u s k" || models.Failure != nil {
		t.Errorf("the models are %+v, want the one of the request", models)
	}
	models.Models = nil
	h.post("/api/backends/other/models", ada, "").wantStatus(http.StatusOK).decode(&models)
	if len(models.Models) != 0 || models.Failure == nil || models.Failure.Class != "invalid" {
		t.Errorf("the models of another backend are %+v, want a failure", models)
	}
	var result rest.ModelTest
	h.post("/api/model-profiles/test", ada, `{"profile":{"name":"A","backend":"demo","model":"m"},"key":"k"}`).wantStatus(http.StatusOK).decode(&result)
	if result.Answer != "ada m k" || result.Milliseconds != 7 || !result.CostUnknown || result.Failure != nil {
		t.Errorf("the result is %+v, want that of the request", result)
	}
	h.post("/api/model-profiles/test", ada, `{"profile":{"name":"A","backend":"demo"}}`).wantStatus(http.StatusOK).decode(&result)
	if result.Failure == nil || result.Failure.Class != "auth" {
		t.Errorf("the result is %+v, want a failure", result)
	}
	p := h.post("/api/model-profiles/test", ada, `{"profile":{"name":"A","backend":"demo"}}`).wantProblem(http.StatusTooManyRequests, wire.CodeRateLimited)
	if p.RetryAfterMS <= 0 {
		t.Errorf("the refusal says to wait %d ms, want a time", p.RetryAfterMS)
	}
	h.rest(http.MethodGet, "/api/backends", request{}).wantStatus(http.StatusUnauthorized)
}
