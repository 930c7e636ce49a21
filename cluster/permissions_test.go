package cluster

import (
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"lorica/smooth"
)

// The permissions that the documentation asks for workers are enough for one.
func TestDocumentedPermissionsAreEnough(t *testing.T) {
	text, err := os.ReadFile("../docs/cluster.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, ok := strings.Cut(string(text), "## Permissions")
	if !ok {
		t.Fatal("docs/cluster.md has no section on permissions")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	publish, subscribe, ok := strings.Cut(section, "subscribe to")
	if !ok {
		t.Fatal("the section does not say what to subscribe to")
	}
	subjects := func(s string) (list []string) {
		for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(s, -1) {
			list = append(list, m[1])
		}
		return list
	}
	s, err := server.NewServer(&server.Options{
		ServerName: "guarded", NoSigs: true, NoLog: true, DontListen: true, JetStream: true, StoreDir: t.TempDir(),
		Users: []*server.User{
			{Username: "coordinator", Password: "c"},
			{Username: "worker", Password: "w", Permissions: &server.Permissions{
				Publish: &server.SubjectPermission{Allow: subjects(publish)}, Subscribe: &server.SubjectPermission{Allow: subjects(subscribe)},
			}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(s.Shutdown)
	if !s.ReadyForConnections(20 * time.Second) {
		t.Fatal("the server did not start")
	}
	const n = 10
	want := direct(t, n, smooth.Fixed(testTask.N))
	c := open(t, &Server{server: s, user: "coordinator", pass: "c"}, testSpec, quick)
	join(t, &Server{server: s, user: "worker", pass: "w"}, Worker{Name: "w", Build: buildLinear(nil)})
	got, err := sample(t, c, n, testTask, nil)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("%d records, %v", len(got), err)
	}
}
