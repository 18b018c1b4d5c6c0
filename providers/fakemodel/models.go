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
	}
	all := []model{}
	for _, name := range s.Models {
		all = append(all, model{name, "model"})
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"object": "list", "data": all}) // the client may be gone
}
