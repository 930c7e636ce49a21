package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"lorica/draw"
)

// testDesk is a desk with one admitted worker and one open call of three chunks.
func testDesk(t testing.TB) (d *desk, member string, c *call, orders []order) {
	t.Helper()
	spec := testSpec
	spec.Protocol, spec.Run, spec.Model = Protocol, "r", strings.Repeat("ab", 32)
	d = newDesk(spec, time.Second, time.Now)
	w := d.join(encode(hello{Worker: "w", Protocol: Protocol, Version: "test", Engine: "linear", Model: spec.Model, Classes: 3, Capacity: 4}))
	if w.Reason != "" {
		t.Fatal(w.Reason)
	}
	var jobs []draw.Job
	for i := range 3 {
		jobs = append(jobs, draw.Job{Image: []float32{0, 1, 2, 3, 4, float32(i)}, Chunk: draw.Chunk{Example: i, Count: 10 + i}})
	}
	c, orders, err := d.issue(jobs)
	if err != nil {
		t.Fatal(err)
	}
	return d, w.Member, c, orders
}

func TestResultsAreChecked(t *testing.T) {
	for name, test := range map[string]struct {
		result result
		want   string // "" is taken
	}{
		"right":           {result{ID: 1, Counts: [][2]int64{{0, 4}, {2, 5}}, Invalid: 1}, ""},
		"too few":         {result{ID: 1, Counts: [][2]int64{{0, 9}}}, "1 of 10 draws are missing"},
		"too many":        {result{ID: 1, Counts: [][2]int64{{0, 11}}}, "11 draws for class 0"},
		"negative":        {result{ID: 1, Counts: [][2]int64{{0, -1}, {1, 11}}}, "-1 draws"},
		"overflow":        {result{ID: 1, Counts: [][2]int64{{0, math.MaxInt64}, {1, math.MaxInt64}, {2, 12}}}, "draws for class 0"},
		"class twice":     {result{ID: 1, Counts: [][2]int64{{0, 5}, {0, 5}}}, "class 0 after class 0"},
		"no such class":   {result{ID: 1, Counts: [][2]int64{{3, 10}}}, "class 3"},
		"negative class":  {result{ID: 1, Counts: [][2]int64{{-1, 10}}}, "class -1"},
		"negative NaN":    {result{ID: 1, Counts: [][2]int64{{0, 11}}, Invalid: -1}, "-1 invalid"},
		"never handed":    {result{ID: 4, Counts: [][2]int64{{0, 10}}}, "never handed out"},
		"zero id":         {result{Counts: [][2]int64{{0, 10}}}, "never handed out"},
		"another's count": {result{ID: 2, Counts: [][2]int64{{0, 10}}}, "1 of 11 draws are missing"},
		"an error":        {result{ID: 1, Error: "device lost", Counts: [][2]int64{{0, 10}}}, "tried again"},
	} {
		d, member, c, _ := testDesk(t)
		r := d.take(encode(delivery{Member: member, Results: []result{test.result}}))
		if len(r.Verdicts) != 1 || (test.want == "") != (r.Verdicts[0] == "") || !strings.Contains(r.Verdicts[0], test.want) {
			t.Errorf("%s: %+v", name, r)
		}
		if taken := c.left == 2; taken != (test.want == "") || len(d.open) != 2+btoi(test.want != "") {
			t.Errorf("%s: %d chunks of the call are left, %d open", name, c.left, len(d.open))
		}
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// The first answer counts. One that comes again, and one that comes after its
// call has ended, is done with and changes nothing.
func TestReplaysChangeNothing(t *testing.T) {
	d, member, c, orders := testDesk(t)
	first := encode(delivery{Member: member, Results: []result{{ID: 1, Counts: [][2]int64{{0, 10}}}, {ID: 2, Counts: [][2]int64{{0, 11}}}, {ID: 3, Counts: [][2]int64{{2, 12}}}}})
	other := encode(delivery{Member: member, Results: []result{{ID: 1, Counts: [][2]int64{{1, 10}}}}})
	for range 3 {
		for _, data := range [][]byte{first, other} {
			if r := d.take(data); r.Reason != "" || strings.Join(r.Verdicts, "") != "" {
				t.Errorf("%+v", r)
			}
		}
	}
	got, err := d.wait(context.Background(), c)
	want := []draw.Tally{{Counts: []int64{10, 0, 0}}, {Counts: []int64{11, 0, 0}}, {Counts: []int64{0, 0, 12}}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v, %v", got, err)
	}
	d.forget(orders)
	if s := d.stats(); s.Draws != 33 || s.Chunks != 3 || s.Late != 9 || s.Open != 0 {
		t.Errorf("%+v", s)
	}
}

func TestWorkersThatWouldDrawOtherwiseAreRefused(t *testing.T) {
	good := func(d *desk) hello {
		return hello{Worker: "w", Protocol: Protocol, Version: "test", Engine: "linear", Model: d.spec.Model, Classes: 3, Capacity: 4}
	}
	for want, spoil := range map[string]func(*hello){
		"protocol":  func(h *hello) { h.Protocol++ },
		"version":   func(h *hello) { h.Version = "0.9" },
		"model":     func(h *hello) { h.Model = strings.Repeat("cd", 32) },
		"classes":   func(h *hello) { h.Classes = 10 },
		"engine":    func(h *hello) { h.Engine = "xla:cuda bfloat16" },
		"capacity":  func(h *hello) { h.Capacity = 0 },
		"of bounds": func(h *hello) { h.Worker = strings.Repeat("x", 1000) },
	} {
		d, _, _, _ := testDesk(t)
		h := good(d)
		spoil(&h)
		if w := d.join(encode(h)); w.Member != "" || !strings.Contains(w.Reason, want) || len(d.members) != 1 {
			t.Errorf("%s: %+v", want, w)
		}
		// Where mixed engines were asked for, they are let in and remembered.
		d.spec.Mixed = true
		if w := d.join(encode(h)); (w.Member != "") != (want == "engine") {
			t.Errorf("%s, mixed: %+v", want, w)
		} else if want == "engine" && !reflect.DeepEqual(d.stats().Engines, []string{"linear", "xla:cuda bfloat16"}) {
			t.Errorf("the engines are %v", d.stats().Engines)
		}
	}
	// Without an engine in the spec the first worker's is the run's.
	d, _, _, _ := testDesk(t)
	d = newDesk(Spec{Protocol: Protocol, Version: "test", Model: d.spec.Model, Classes: 3}, time.Second, time.Now)
	h := good(d)
	if w := d.join(encode(h)); w.Member == "" || d.engine != "linear" {
		t.Errorf("the first worker: %+v, engine %q", w, d.engine)
	}
	h.Engine = "other"
	if w := d.join(encode(h)); !strings.Contains(w.Reason, "linear") {
		t.Errorf("another engine after it: %+v", w)
	}
}

func TestSilentWorkersAreDropped(t *testing.T) {
	d, member, _, _ := testDesk(t)
	now := time.Now()
	d.now = func() time.Time { return now }
	for range 4 {
		now = now.Add(2 * time.Second)
		if v := d.life(encode(beat{Member: member})); v.Reason != "" {
			t.Fatal(v.Reason)
		}
		d.tick()
	}
	now = now.Add(6 * time.Second)
	d.tick()
	if v := d.life(encode(beat{Member: member})); v.Reason != notMember {
		t.Errorf("after six seconds of silence: %+v", v)
	}
	if r := d.take(encode(delivery{Member: member, Results: []result{{ID: 1, Counts: [][2]int64{{0, 10}}}}})); r.Reason != notMember {
		t.Errorf("a result of a stranger: %+v", r)
	}
}

// FuzzDesk sends anything at all to the coordinator. Whatever comes, no tally
// is accepted that is not one, no chunk is lost, and the right answers
// afterwards give the right tallies.
func FuzzDesk(f *testing.F) {
	seeds := []any{
		hello{Worker: "w", Protocol: 1, Version: "test", Engine: "linear", Classes: 3, Capacity: 4},
		beat{Member: "MEMBER", Leaving: true}, beat{}, wanted{ID: 2, Offset: 8}, wanted{ID: 1 << 63, Offset: -4},
		delivery{Member: "MEMBER", Results: []result{{ID: 1, Counts: [][2]int64{{0, 10}}}, {ID: 1, Counts: [][2]int64{{1, 10}}}}},
		delivery{Member: "MEMBER", Results: []result{{ID: 3, Error: "x"}, {ID: 9}}}, delivery{Results: []result{{ID: 1}}},
		delivery{Member: "MEMBER", Results: []result{{ID: 2, Counts: [][2]int64{{math.MaxInt64, math.MinInt64}}, Invalid: math.MinInt64}}},
	}
	for _, s := range seeds {
		for verb := range byte(4) {
			f.Add(verb, encode(s), false)
		}
	}
	f.Add(byte(2), []byte(`{"member":"MEMBER","results":[{"id":1,"counts":[[0,5],[1,`), true)
	f.Add(byte(2), []byte(nil), true)
	f.Fuzz(func(t *testing.T, verb byte, data []byte, pad bool) {
		d, member, c, orders := testDesk(t)
		data = []byte(strings.ReplaceAll(string(data), "MEMBER", member))
		if pad {
			data = append(data, make([]byte, maxRequest)...)
		}
		for range 2 { // everything also comes twice
			switch verb % 4 {
			case 0:
				if w := d.join(data); (w.Member == "") == (w.Reason == "") || len(w.Reason) > maxText+3 {
					t.Errorf("%+v", w)
				}
			case 1:
				if v := d.life(data); len(v.Reason) > maxText+3 {
					t.Errorf("%+v", v)
				}
			case 2:
				if r := d.take(data); len(encode(r)) > maxRequest*8 {
					t.Errorf("an answer of %d bytes", len(encode(r)))
				}
			case 3:
				if part := d.image(data); len(part) > 24 {
					t.Errorf("%d bytes of an image of 24", len(part))
				}
			}
		}
		for i, o := range orders { // what was accepted is a tally
			if _, open := d.open[o.ID]; open {
				continue
			}
			sum := c.tallies[i].Invalid
			for _, n := range c.tallies[i].Counts {
				if n < 0 {
					t.Errorf("a count of %d", n)
				}
				sum += n
			}
			if sum != int64(o.Count) || len(c.tallies[i].Counts) != 3 {
				t.Errorf("chunk %d of %d draws: accepted %+v", o.ID, o.Count, c.tallies[i])
			}
		}
		// A worker that behaves can finish the rest.
		w := d.join(encode(hello{Worker: "w", Protocol: Protocol, Version: "test", Engine: "linear", Model: d.spec.Model, Classes: 3, Capacity: 4}))
		if w.Reason != "" {
			t.Fatal(w.Reason)
		}
		for _, o := range orders {
			_, open := d.open[o.ID]
			r := d.take(encode(delivery{Member: w.Member, Results: []result{{ID: o.ID, Counts: [][2]int64{{1, int64(o.Count)}}}}}))
			if r.Reason != "" || r.Verdicts[0] != "" {
				t.Errorf("%+v", r)
			}
			if open && c.tallies[o.ID-1].Counts[1] != int64(o.Count) {
				t.Errorf("chunk %d: %+v", o.ID, c.tallies[o.ID-1])
			}
		}
		select {
		case <-c.done:
		default:
			t.Error("the call is not done")
		}
	})
}

// FuzzWorker decodes what a worker is sent: specs, orders and parts of images.
func FuzzWorker(f *testing.F) {
	spec := testSpec
	spec.Run, spec.Model = "r", strings.Repeat("ab", 32)
	f.Add(encode(spec))
	f.Add(encode(order{ID: 1, Chunk: draw.Chunk{Count: 5}}))
	f.Add([]byte(`{"image":[4294967296,4294967296,4294967296]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var s Spec
		if decode(data, maxRequest, &s) == nil && s.Validate() == nil && (s.Pixels() < 1 || s.Pixels() > maxPixels || !token(s.Run)) {
			t.Errorf("accepted %+v", s)
		}
		if o, err := decodeOrder(data, &spec); err == nil && (o.Count < 1 || o.Count > spec.Chunk || o.First+int64(o.Count) > math.MaxUint32+1) {
			t.Errorf("accepted %+v", o)
		}
		image := make([]float32, 6)
		for _, offset := range []int{0, 8, 20} {
			if next, err := getImage(image, offset, data); err == nil && (next <= offset || next > 24) {
				t.Errorf("%d bytes at %d led to %d", len(data), offset, next)
			}
		}
	})
}

func TestImagesTravelInParts(t *testing.T) {
	image := make([]float32, 3*maxImagePart/4+7)
	for i := range image {
		image[i] = float32(i) * 0.1
	}
	got := make([]float32, len(image))
	parts := 0
	for offset := 0; offset < 4*len(image); parts++ {
		var err error
		if offset, err = getImage(got, offset, putImage(image, offset)); err != nil {
			t.Fatal(err)
		}
	}
	if parts != 4 || !reflect.DeepEqual(got, image) {
		t.Errorf("%d parts; another image", parts)
	}
	if part := putImage(image, 4*len(image)); part != nil {
		t.Errorf("%d bytes after the end", len(part))
	}
	// Only a chunk that is done with is called so: a worker drops it then.
	d, member, _, _ := testDesk(t)
	d.take(encode(delivery{Member: member, Results: []result{{ID: 1, Counts: [][2]int64{{0, 10}}}}}))
	for request, want := range map[string][]byte{`{"id":1}`: notOpen, `{"id":2,"offset":20}`: {0, 0, 0x80, 0x3f}, `{"id":2,"offset":24}`: nil, `{`: nil} {
		if got := d.image([]byte(request)); !bytes.Equal(got, want) {
			t.Errorf("%s gives %v", request, got)
		}
	}
}

func TestSpecIsChecked(t *testing.T) {
	for field, spoil := range map[string]func(*Spec){
		"image is": func(s *Spec) { s.Image[1] = 0 },
		"values":   func(s *Spec) { s.Image = [3]int{1 << 20, 1 << 20, 1 << 20} },
		"name":     func(s *Spec) { s.Name = "../x" },
		"run":      func(s *Spec) { s.Run = "a.>" },
		"sha256":   func(s *Spec) { s.Model = "abc" },
		"bytes":    func(s *Spec) { s.ModelBytes = 1 << 60 },
		"sigma":    func(s *Spec) { s.Sigma = math.Inf(1) },
		"classes":  func(s *Spec) { s.Classes = 1 },
		"chunk":    func(s *Spec) { s.Chunk = 0 },
	} {
		s := testSpec
		s.Run, s.Model = "r", strings.Repeat("ab", 32)
		if err := s.Validate(); err != nil {
			t.Fatal(err)
		}
		spoil(&s)
		if err := s.Validate(); err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("%s: %v", field, err)
		}
	}
}

func TestMetricsAreText(t *testing.T) {
	d, id, _, _ := testDesk(t)
	d.take(encode(delivery{Member: id, Results: []result{{ID: 1, Counts: [][2]int64{{0, 10}}}}}))
	d.members["other"] = &member{name: "w", engine: "linear", draws: 7}
	var b strings.Builder
	if err := d.stats().WriteMetrics(&b); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"lorica_draws_total 10\n", "lorica_chunks_open 2\n", "lorica_workers 2\n", `lorica_worker_draws_total{worker="w"} 17` + "\n"} {
		if strings.Count(b.String(), line) != 1 {
			t.Errorf("%q is not once in\n%s", line, &b)
		}
	}
	var back Stats
	if err := json.Unmarshal(encode(d.stats()), &back); err != nil || back.Draws != 10 {
		t.Errorf("%+v, %v", back, err)
	}
	if left, ok := (Stats{Rate: 100, OfDraws: 1000, DrawsDone: 500}).Left(); !ok || left != 5*time.Second {
		t.Errorf("500 draws at 100 a second take %v", left)
	}
	if got := clip("a\x1b[2Jb" + strings.Repeat("c", 1000)); strings.ContainsRune(got, 0x1b) || len(got) > maxText+3 {
		t.Errorf("%q", got)
	}
	if fmt.Sprint(Title("a", "", "b")) != "a, b" || Name("a", "b") == Name("ab") {
		t.Error("titles and names")
	}
}
