package s3files_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/everdesk/everdesk/files/s3files"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]s3files.Config{
		"s3://desk":                                           {Bucket: "desk", Endpoint: "s3.amazonaws.com"},
		"s3://desk/a/b/?region=eu-1":                          {Bucket: "desk", Prefix: "a/b", Endpoint: "s3.amazonaws.com", Region: "eu-1"},
		"s3://desk?endpoint=https://minio.example":            {Bucket: "desk", Endpoint: "minio.example"},
		"s3://desk?endpoint=http%3A%2F%2F127.0.0.1%3A9000%2F": {Bucket: "desk", Endpoint: "127.0.0.1:9000", Insecure: true},
	} {
		got, err := s3files.Parse(address)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: error %v (-want +got):\n%s", address, err, diff)
		}
	}
	for _, bad := range []string{"", "s3://", "http://desk", "s3://key:secret@desk", "s3://desk?endpoint=minio:9000", "s3://desk?endpoint=https://a/b", "s3://desk?acl=public", "s3://%zz"} {
		if got, err := s3files.Parse(bad); err == nil {
			t.Errorf("%q: got %+v, want an error", bad, got)
		}
	}
}
