module github.com/everdesk/everdesk/bench

go 1.26.0

replace github.com/everdesk/everdesk => ..

require (
	github.com/everdesk/everdesk v0.0.0-00010101000000-000000000000
	github.com/redis/go-redis/v9 v9.23.0
	go.uber.org/goleak v1.3.0
	golang.org/x/sys v0.49.0
)

require (
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/coder/websocket v1.8.15 // indirect
	github.com/google/jsonschema-go v0.4.3 // indirect
	go.uber.org/atomic v1.12.0 // indirect
	golang.org/x/time v0.16.0 // indirect
)
