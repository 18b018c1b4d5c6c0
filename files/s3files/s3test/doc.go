// Package s3test starts a real S3 server for tests: versitygw, which make test-s3 builds from the Go proxy. It is
// compiled with the build tag s3server only, because no other test has the program.
package s3test
