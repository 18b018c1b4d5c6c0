package anthropic

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/everdesk/everdesk/providers"
)

// modelsTimeout bounds [Models].
const modelsTimeout = 15 * time.Second

// Model is a model in the list of a server.
type Model struct {
	ID   string `json:"id"`
	Name string `json:"display_name"`
}

// Models returns the server's models, newest first, or an error within 15 seconds.
func Models(ctx context.Context, cfg Config) ([]Model, error) {
	server, err := connect(cfg)
	if err != nil {
		return nil, err
	}
	defer server.Close()
	ctx, cancel := context.WithTimeout(ctx, modelsTimeout)
	defer cancel()
	body, err := server.Get(ctx, "/v1/models?limit=1000")
	if err != nil {
		return nil, err
	}
	var list struct {
		Data []Model `json:"data"`
	}
	if err := json.Unmarshal(body, &list); err != nil {
		return nil, &providers.Failure{Class: providers.Transport, Err: fmt.Errorf("read the list of models: %w", err)}
	}
	return list.Data, nil
}
