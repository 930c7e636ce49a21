package dataset

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

const hamHead = "lesion_id,image_id,dx,dx_type,age,sex,localization\n"

// hamFolder writes a small data set of HAM10000's form, with drawn images.
func hamFolder(t *testing.T, metadata string, images ...string) string {
	t.Helper()
	dir := t.TempDir()
	writeTo(t, dir, "HAM10000_metadata.csv", []byte(metadata))
	for _, name := range images {
		writeTo(t, dir, name, jpegBytes(t, testImage(16, 16)))
	}
	return dir
}

const hamRows = hamHead +
	"L1,I3,mel,histo,80.0,male,scalp\nL1,I1,mel,histo,80.0,male,scalp\nL2,I2,nv,histo,,,back\nL3,I4,akiec,histo,1,male,ear\nL4,I5,bcc,histo,1,male,ear\n"

func TestHAM(t *testing.T) {
	dir := hamFolder(t, hamRows, "images/I1.jpg", "HAM10000_images_part_1/I2.jpg", "HAM10000_images_part_2/I3.jpg", "images/I4.jpg", "images/I5.jpg")
	writeTo(t, dir, "split_by_lesion.csv", []byte("image_id,split\nI1,test\nI2,train\nI3,test\nI4,test\nI5,val\n"))
	s, err := Open("ham10000:"+dir, "")
	if err != nil {
		t.Fatal(err)
	}
	labels := func(s Set) (out []int) {
		for i := range s.Len() {
			out = append(out, s.Label(i))
		}
		return out
	}
	if !slices.Equal(s.Classes(), hamDiagnoses) || !slices.Equal(labels(s), []int{4, 4, 0}) || s.Name(1) != "HAM10000_images_part_2/I3.jpg" {
		t.Errorf("classes %v, labels %v, name %q", s.Classes(), labels(s), s.Name(1))
	}
	if !strings.HasPrefix(s.Identity(), "ham10000 task=diagnosis split=file as-is sha256:") {
		t.Errorf("identity %q", s.Identity())
	}
	if _, err := s.Image(2, nil); err != nil {
		t.Error(err)
	}
	for query, want := range map[string][]int{
		"?task=malignancy":                            {1, 0, 1, 0, 1},
		"?task=malignancy&malignant=mel,bcc,akiec":    {1, 0, 1, 1, 1},
		"?task=malignancy&malignant=akiec&resize=8x8": {0, 0, 0, 1, 0},
	} {
		s, err := Open("ham10000:"+dir+query, "all")
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(labels(s), want) || !slices.Equal(s.Classes(), []string{"benign", "malignant"}) {
			t.Errorf("%s: labels %v, want %v", query, labels(s), want)
		}
	}
}

func TestHAMSeededSplit(t *testing.T) {
	var rows strings.Builder
	rows.WriteString(hamHead)
	var images []string
	for i := range 60 {
		fmt.Fprintf(&rows, "L%d,I%02d,nv,,,,\n", i/3, i)
		images = append(images, fmt.Sprintf("images/I%02d.jpg", i))
	}
	dir := hamFolder(t, rows.String(), images...)
	total := 0
	identity := ""
	for _, split := range []string{"train", "val", "test"} {
		s, err := Open("ham10000:"+dir+"?seed=3", split)
		if err != nil {
			if strings.Contains(err.Error(), "no JPEG") {
				continue // a part may be empty for twenty lesions
			}
			t.Fatal(err)
		}
		total += s.Len()
		if s.Len()%3 != 0 {
			t.Errorf("%s: %d images: a lesion of three was divided", split, s.Len())
		}
		identity = s.Identity()
	}
	if total != 60 || !strings.Contains(identity, "split=seed:3") {
		t.Errorf("%d images in the three parts, identity %q", total, identity)
	}
	// Shares over many lesions: 82, 6 and 12 of 100, within five standard errors.
	const n = 20000
	got := map[string]float64{}
	moved := 0
	for i := range n {
		name := fmt.Sprintf("HAM_%07d", i)
		got[seededPart(name, 1)]++
		if seededPart(name, 1) != seededPart(name, 2) {
			moved++
		}
	}
	for part, p := range map[string]float64{"train": 0.82, "val": 0.06, "test": 0.12} {
		if d := math.Abs(got[part] - n*p); d > 5*math.Sqrt(n*p*(1-p)) {
			t.Errorf("%s has %v of %d lesions, want about %v", part, got[part], n, n*p)
		}
	}
	if moved == 0 {
		t.Error("the seed changes nothing")
	}
}

func TestBadHAM(t *testing.T) {
	const split = "image_id,split\nI1,test\nI2,train\nI3,test\nI4,test\nI5,val\n"
	all := []string{"images/I1.jpg", "images/I2.jpg", "images/I3.jpg", "images/I4.jpg", "images/I5.jpg"}
	for _, test := range []struct{ name, metadata, split, query, want string }{
		{"empty", "", split, "", "HAM10000_metadata.csv: no line of column names"},
		{"column", strings.Replace(hamRows, "dx,", "diagnosis,", 1), split, "", `no column "dx"`},
		{"diagnosis", strings.Replace(hamRows, ",nv,", ",scc,", 1), split, "", `line 4: dx "scc"`},
		{"no lesion", strings.Replace(hamRows, "L2,", ",", 1), split, "", "line 4: lesion_id is empty"},
		{"twice", hamRows + "L9,I2,nv,,,,\n", split, "", "line 7: image I2 stands on line 4 too"},
		{"fields", hamRows + "L9,I9\n", split, "", "line 7: wrong number of fields"},
		{"path", hamRows + "L9,../I9,nv,,,,\n", split, "", "is not the name of an image"},
		{"missing image", hamRows + "L9,I9,nv,,,,\n", split + "I9,test\n", "", "image I9 of HAM10000_metadata.csv (line 7)"},
		{"not in split", hamRows, strings.Replace(split, "I5,val\n", "", 1), "", "split_by_lesion.csv has no line for image I5"},
		{"lesion divided", hamRows, strings.Replace(split, "I1,test", "I1,train", 1), "", "puts lesion L1 into"},
		{"part", hamRows, strings.Replace(split, "I5,val", "I5,dev", 1), "", `line 6: split "dev"`},
		{"task", hamRows, split, "?task=cancer", "option task"},
		{"malignant", hamRows, split, "?malignant=mel", "needs task=malignancy"},
		{"malignant what", hamRows, split, "?task=malignancy&malignant=mal", `"mal" is none of`},
		{"seed", hamRows, split, "?seed=-1", "option seed"},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := hamFolder(t, test.metadata, all...)
			writeTo(t, dir, "split_by_lesion.csv", []byte(test.split))
			wantError(t, test.want, func() error { _, err := Open("ham10000:"+dir+test.query, "test"); return err })
		})
	}
}

func FuzzMetadata(f *testing.F) {
	f.Add([]byte(hamRows))
	f.Add([]byte("\ufeffimage_id,dx,lesion_id\n\"I,1\",nv,L\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		rows, err := parseMetadata(data)
		if err != nil {
			return
		}
		seen := map[string]bool{}
		for _, row := range rows {
			if !slices.Contains(hamDiagnoses, row.dx) || row.lesion == "" || row.image == "" || seen[row.image] || row.line < 2 {
				t.Fatalf("row %+v", row)
			}
			seen[row.image] = true
		}
	})
}
