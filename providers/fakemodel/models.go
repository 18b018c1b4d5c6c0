package fakemodel

import (
	"encoding/json"
	"net/http"
)

// list serves the list of models.
func (s *Server) list(w http.ResponseWriter, r *http.Request) {
	if !s.allowed(r) {
		refuse(w, "auth", "The key is wrong.")
		return
	}
	type model struct {
		ID     string `json:"id"`
		Object string `json:"object"`
		Name   string `json:"display_name"` // only Anthropic has it
	}
	all := []model{}
	for _, name := range s.Models {
		all = append(all, model{name, "model", "The model " + name})
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"object": "list", "data": all}) // the client may be gone
}

// listTags serves the list of models as Ollama does.
func (s *Server) listTags(w http.ResponseWriter) {
	all := []map[string]any{}
	for _, name := range s.Models {
		all = append(all, map[string]any{"name": name, "model": name, "size": 1 << 30})
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"models": all}) // the client may be gone
}
