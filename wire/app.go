package wire

import "encoding/json"

// AppRequest is a request of the hub to an app in a window; its `kind` says which.
type AppRequest interface{ appRequest() }

func appRequestUnion() union {
	return unionOf[AppRequest]("kind",
		variant[AppManifestRequest]("manifest"),
		variant[AppQueryRequest]("query"),
		variant[AppCommandRequest]("command"),
	)
}

// AppManifestRequest asks for the app's manifest.
type AppManifestRequest struct{}

// AppQueryRequest asks for a part of the app's state.
type AppQueryRequest struct {
	StateKey string `json:"stateKey"`
}

// AppCommandRequest asks the app to do something.
type AppCommandRequest struct {
	Command string          `json:"command"`
	Params  json.RawMessage `json:"params,omitempty"`
}

func (AppManifestRequest) appRequest() {}
func (AppQueryRequest) appRequest()    {}
func (AppCommandRequest) appRequest()  {}

// AppResponse is an app's answer; its `kind` says which.
type AppResponse interface{ appResponse() }

func appResponseUnion() union {
	return unionOf[AppResponse]("kind",
		variant[AppManifestResponse]("manifest"),
		variant[AppQueryResponse]("query"),
		variant[AppCommandResponse]("command"),
	)
}

// AppManifestResponse returns the app's manifest.
type AppManifestResponse struct {
	// Manifest is null or absent when the app has none.
	Manifest *AppManifest `json:"manifest,omitempty"`
	Error    string       `json:"error,omitempty"`
}

// AppQueryResponse is a part of the app's state.
type AppQueryResponse struct {
	Data  json.RawMessage `json:"data,omitempty"`
	Error string          `json:"error,omitempty"`
}

// AppCommandResponse is the result of a command.
type AppCommandResponse struct {
	Result json.RawMessage `json:"result,omitempty"`
	Error  string          `json:"error,omitempty"`
}

func (AppManifestResponse) appResponse() {}
func (AppQueryResponse) appResponse()    {}
func (AppCommandResponse) appResponse()  {}

// AppManifest is an app's description of itself. All fields are optional, because anyone
// can write an app.
type AppManifest struct {
	AppID    AppID                      `json:"appId,omitempty"`
	Name     string                     `json:"name,omitempty"`
	State    Object[string, AppState]   `json:"state,omitempty"`
	Commands Object[string, AppCommand] `json:"commands,omitempty"`
}

// AppState describes a part of an app's state.
type AppState struct {
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"schema,omitempty"`
}

// AppCommand describes a command of an app.
type AppCommand struct {
	Description string          `json:"description,omitempty"`
	Params      json.RawMessage `json:"params,omitempty"`
	Returns     json.RawMessage `json:"returns,omitempty"`
}
