package s3files

import (
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/everdesk/everdesk/files"
)

// Earlier versions remove all keys below a session with its files. Cold sessions are not there.
func TestColdObjectsAreOutsideOfTheirSession(t *testing.T) {
	t.Parallel()
	for _, prefix := range []string{"", "desk"} {
		b := &Backend{prefix: prefix}
		got, err := b.objectKey(files.Key{Session: "ses-1", Area: files.AreaCold, Name: "a"})
		if want := b.prefixed(".cold/ses-1/a"); err != nil || got != want {
			t.Errorf("key of a cold object: got %q, error %v, want %q", got, err, want)
		}
	}
}

// An object is missing only if the bucket can be listed: a proxy without a route and a server without the
// bucket answer all requests with 404.
func TestMissingBucketIsNotAMissingObject(t *testing.T) {
	t.Parallel()
	const noFiles = `<?xml version="1.0"?><ListBucketResult><Name>desk</Name><IsTruncated>false</IsTruncated></ListBucketResult>`
	failure := func(code string) string { return "<Error><Code>" + code + "</Code><Message>m</Message></Error>" }
	for name, c := range map[string]struct {
		object, list string
		status       int
		missing      bool
	}{
		"no object":       {object: failure("NoSuchKey"), list: noFiles, status: http.StatusOK, missing: true},
		"no bucket":       {object: failure("NoSuchBucket"), list: failure("NoSuchBucket"), status: http.StatusNotFound},
		"no route":        {object: "not found", list: "not found", status: http.StatusNotFound},
		"unknown failure": {object: failure("NotFound"), list: failure("NotFound"), status: http.StatusNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/xml")
				if r.URL.Query().Has("list-type") {
					w.WriteHeader(c.status)
					_, _ = w.Write([]byte(c.list))
					return
				}
				w.WriteHeader(http.StatusNotFound)
				_, _ = w.Write([]byte(c.object))
			}))
			t.Cleanup(server.Close)
			client, err := minio.New(strings.TrimPrefix(server.URL, "http://"), &minio.Options{
				Creds: credentials.NewStaticV4("key", "secret", ""), Region: "us-east-1", MaxRetries: 1,
			})
			if err != nil {
				t.Fatal(err)
			}
			b := &Backend{client: client, bucket: "desk"}
			_, _, err = b.Open(t.Context(), files.Key{Session: "ses-1", Area: files.AreaCold, Name: "a"})
			if err == nil || errors.Is(err, fs.ErrNotExist) != c.missing {
				t.Errorf("open: error %v, want an error that says that the object is missing: %v", err, c.missing)
			}
		})
	}
}
