package gateway_test

import (
	"encoding/json"
	"net/http"
	"testing"
)

// document is the part of the API description that tests read.
type document struct {
	OpenAPI string
	Info    struct{ Title, Version, Description string }
	Paths   map[string]map[string]operation
	raw     []byte
}

type operation struct {
	Summary, OperationID string
	Tags                 []string
	Security             []map[string][]string
	Parameters           []struct {
		Name, In, Description string
		Schema                struct {
			Type    string
			Default int
		}
	}
	RequestBody *struct {
		Content map[string]struct{ Schema json.RawMessage }
	}
	Responses map[string]struct {
		Description string
		Content     map[string]struct{ Schema json.RawMessage }
	}
}

func describe(t *testing.T, h *testHub) document {
	t.Helper()
	var d document
	got := h.get("/api/openapi.json", "").wantStatus(http.StatusOK)
	got.decode(&d)
	d.raw = got.body
	return d
}
