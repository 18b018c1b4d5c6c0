package s3files

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/everdesk/everdesk/files"
)

// Config says where the bucket is.
type Config struct {
	Bucket string
	// Prefix begins all keys; empty or without slashes at its ends.
	Prefix string
	// Endpoint is the host of the server with its port, by default that of AWS; Insecure means HTTP.
	Endpoint string
	Insecure bool
	Region   string
}

// Parse reads an address such as s3://bucket/prefix?endpoint=https://minio.example:9000&region=eu-1.
func Parse(address string) (Config, error) {
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return Config{}, fmt.Errorf("parse address of files: %w", err)
	case u.Scheme != "s3" || u.Host == "":
		return Config{}, errors.New("the address of files has to be s3://BUCKET, with ?endpoint=URL for a server other than AWS")
	case u.User != nil:
		return Config{}, errors.New("the address of files must not have credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
	}
	c := Config{Bucket: u.Host, Prefix: strings.Trim(u.Path, "/"), Endpoint: "s3.amazonaws.com"}
	for name, values := range u.Query() {
		switch name {
		case "region":
			c.Region = values[0]
		case "endpoint":
			e, err := url.Parse(values[0])
			if err != nil || e.Host == "" || e.Scheme != "http" && e.Scheme != "https" || e.Path != "" && e.Path != "/" {
				return Config{}, fmt.Errorf("the endpoint of files has to be http://HOST or https://HOST, not %q", values[0])
			}
			c.Endpoint, c.Insecure = e.Host, e.Scheme == "http"
		default:
			return Config{}, fmt.Errorf("the address of files has an unknown parameter %q; known are endpoint and region", name)
		}
	}
	return c, nil
}

// maxRetries bounds the tries of a request that the server does not answer.
const maxRetries = 4

// Open returns the backend in a bucket, which must exist. The credentials are those of the environment
// (AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or MINIO_…), of ~/.aws/credentials or of the
// instance.
func Open(ctx context.Context, cfg Config) (*Backend, error) {
	client, err := minio.New(cfg.Endpoint, &minio.Options{
		Creds: credentials.NewChainCredentials([]credentials.Provider{
			&credentials.EnvAWS{}, &credentials.EnvMinio{}, &credentials.FileAWSCredentials{}, &credentials.IAM{},
		}),
		Secure: !cfg.Insecure, Region: cfg.Region, MaxRetries: maxRetries,
	})
	if err != nil {
		return nil, fmt.Errorf("open files in S3: %w", err)
	}
	b := &Backend{client: client, bucket: cfg.Bucket, prefix: cfg.Prefix}
	if err := b.probe(ctx); err != nil {
		return nil, fmt.Errorf("open files in S3, bucket %q: %w", cfg.Bucket, err)
	}
	return b, nil
}

// probe makes sure that the bucket can be written and that the server compares conditions: a server
// that ignores them would lose changes silently.
func (b *Backend) probe(ctx context.Context) error {
	key := b.prefixed(".probe/" + rand.Text())
	for _, want := range []error{nil, files.ErrChanged} {
		_, err := b.put(ctx, key, strings.NewReader("x"), 1, files.Condition{Absent: true})
		if !errors.Is(err, want) {
			if want != nil && err == nil {
				err = errors.New("the server ignores If-None-Match, so that replicas would overwrite each other's changes")
			}
			return errors.Join(err, b.client.RemoveObject(ctx, b.bucket, key, minio.RemoveObjectOptions{}))
		}
	}
	return b.client.RemoveObject(ctx, b.bucket, key, minio.RemoveObjectOptions{})
}
