package dataset

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// hamDiagnoses are HAM10000's seven classes, by their short names.
var hamDiagnoses = []string{"akiec", "bcc", "bkl", "df", "mel", "nv", "vasc"}

// openHAM opens HAM10000: HAM10000_metadata.csv and a folder of images.
//
// Several images may show one lesion. A split by image would put a lesion into
// training and test at once; both ways of splitting here keep it in one part.
func openHAM(dir, split string, opts *options) (*set, error) {
	split, err := wantSplit(split, "train", "val", "test", "all")
	if err != nil {
		return nil, err
	}
	pre, given, err := parsePreprocess(opts)
	if err != nil {
		return nil, err
	}
	classes, labelOf, task, err := hamTask(opts)
	if err != nil {
		return nil, err
	}
	rows, err := readCSV(filepath.Join(dir, "HAM10000_metadata.csv"), parseMetadata)
	if err != nil {
		return nil, err
	}
	how, err := hamSplit(dir, rows, opts)
	if err != nil {
		return nil, err
	}
	files, err := hamImages(dir)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(rows, func(a, b hamRow) int { return strings.Compare(a.image, b.image) })
	f := fileSet{root: dir}
	h := sha256.New()
	for _, row := range rows {
		if split != "all" && row.split != split {
			continue
		}
		file, ok := files[row.image]
		if !ok {
			return nil, fmt.Errorf("image %s of HAM10000_metadata.csv (line %d) is not in %s or a folder of images in it", row.image, row.line, dir)
		}
		f.files = append(f.files, file)
		f.labels = append(f.labels, labelOf[row.dx])
		fmt.Fprintf(h, "%s\t%s\n", row.image, row.dx)
	}
	if !given {
		if pre, err = f.defaultFor(preprocess{short: 299, cropW: 299, cropH: 299}); err != nil {
			return nil, err
		}
	}
	s, err := f.set(pre)
	if err != nil {
		return nil, err
	}
	s.identity = fmt.Sprintf("ham10000 %s %s %s %s", task, how, pre, digest(h))
	s.split = split
	s.classes = classes
	return s, nil
}

// hamTask reads the option task: diagnosis (the seven classes) or malignancy
// (benign 0, malignant 1). Malignant are melanoma and basal cell carcinoma, as
// in the paper; option malignant=mel,bcc,akiec counts otherwise.
func hamTask(opts *options) (classes []string, labelOf map[string]int, identity string, err error) {
	task, malignant := opts.get("task"), opts.get("malignant")
	labelOf = map[string]int{}
	switch task {
	case "", "diagnosis":
		if malignant != "" {
			return nil, nil, "", errors.New("option malignant needs task=malignancy")
		}
		for i, dx := range hamDiagnoses {
			labelOf[dx] = i
		}
		return hamDiagnoses, labelOf, "task=diagnosis", nil
	case "malignancy":
		if malignant == "" {
			malignant = "mel,bcc"
		}
		for dx := range strings.SplitSeq(malignant, ",") {
			if !slices.Contains(hamDiagnoses, dx) {
				return nil, nil, "", fmt.Errorf("option malignant: %q is none of %s", dx, strings.Join(hamDiagnoses, ", "))
			}
			labelOf[dx] = 1
		}
		return []string{"benign", "malignant"}, labelOf, "task=malignancy malignant=" + malignant, nil
	}
	return nil, nil, "", fmt.Errorf("option task: %q is neither diagnosis nor malignancy", task)
}

// hamSplit gives every row its part: from split_by_lesion.csv where that is
// there and no seed is asked for, else by a hash of the lesion's name.
func hamSplit(dir string, rows []hamRow, opts *options) (how string, err error) {
	path := filepath.Join(dir, "split_by_lesion.csv")
	seedText := opts.get("seed")
	_, err = os.Stat(path)
	if err == nil && seedText == "" {
		return "split=file", splitByFile(path, rows)
	} else if err != nil && !os.IsNotExist(err) {
		return "", err
	}
	seed := uint64(1)
	if seedText != "" {
		if seed, err = strconv.ParseUint(seedText, 10, 64); err != nil {
			return "", fmt.Errorf("option seed: %q is not a whole number", seedText)
		}
	}
	for i := range rows {
		rows[i].split = seededPart(rows[i].lesion, seed)
	}
	return fmt.Sprintf("split=seed:%d", seed), nil
}

// seededPart puts about 82 lesions of 100 into training, 6 into validation and
// 12 into test. It looks at nothing but the lesion and the seed, so a lesion
// stays where it is whatever else the metadata holds.
func seededPart(lesion string, seed uint64) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "ham10000 %d %s", seed, lesion))
	switch u := binary.BigEndian.Uint64(sum[:]) % 100; {
	case u < 82:
		return "train"
	case u < 88:
		return "val"
	}
	return "test"
}

func splitByFile(path string, rows []hamRow) error {
	listed, err := readCSV(path, parseSplit)
	if err != nil {
		return err
	}
	part := map[string]string{}
	for _, row := range listed {
		part[row.image] = row.split
	}
	lesion := map[string]string{}
	for i := range rows {
		row := &rows[i]
		var ok bool
		if row.split, ok = part[row.image]; !ok {
			return fmt.Errorf("%s has no line for image %s", path, row.image)
		}
		if had, ok := lesion[row.lesion]; ok && had != row.split {
			return fmt.Errorf("%s puts lesion %s into %s and %s: it would be trained and tested on", path, row.lesion, had, row.split)
		}
		lesion[row.lesion] = row.split
	}
	return nil
}

// hamImages finds the image files: the published archive has them in two
// folders, other copies in one.
func hamImages(dir string) (map[string]string, error) {
	files := map[string]string{}
	for _, sub := range []string{".", "images", "HAM10000_images", "HAM10000_images_part_1", "HAM10000_images_part_2"} {
		entries, err := os.ReadDir(filepath.Join(dir, sub))
		if os.IsNotExist(err) && sub != "." {
			continue
		} else if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if isImage(e.Name()) {
				files[strings.TrimSuffix(e.Name(), filepath.Ext(e.Name()))] = filepath.Join(sub, e.Name())
			}
		}
	}
	return files, nil
}

// hamRow is one image of the metadata or of the split file.
type hamRow struct {
	image, lesion, dx, split string
	line                     int
}

func readCSV(path string, parse func([]byte) ([]hamRow, error)) ([]hamRow, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	rows, err := parse(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return rows, nil
}

// parseMetadata reads the columns lesion_id, image_id and dx.
func parseMetadata(data []byte) ([]hamRow, error) {
	return parseColumns(data, []string{"lesion_id", "image_id", "dx"}, func(v []string) (hamRow, error) {
		if v[0] == "" {
			return hamRow{}, errors.New("lesion_id is empty")
		}
		if !slices.Contains(hamDiagnoses, v[2]) {
			return hamRow{}, fmt.Errorf("dx %q is none of %s", v[2], strings.Join(hamDiagnoses, ", "))
		}
		return hamRow{lesion: v[0], image: v[1], dx: v[2]}, nil
	})
}

// parseSplit reads the columns image_id and split.
func parseSplit(data []byte) ([]hamRow, error) {
	return parseColumns(data, []string{"image_id", "split"}, func(v []string) (hamRow, error) {
		if !slices.Contains([]string{"train", "val", "test"}, v[1]) {
			return hamRow{}, fmt.Errorf("split %q is none of train, val, test", v[1])
		}
		return hamRow{image: v[0], split: v[1]}, nil
	})
}

// parseColumns reads named columns of a CSV file, an image a line and no image
// twice.
func parseColumns(data []byte, columns []string, row func(values []string) (hamRow, error)) ([]hamRow, error) {
	in := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(data, []byte("\ufeff"))))
	in.ReuseRecord = true
	head, err := in.Read()
	if err != nil {
		return nil, fmt.Errorf("no line of column names: %w", err)
	}
	at := make([]int, len(columns))
	for i, column := range columns {
		if at[i] = slices.Index(head, column); at[i] < 0 {
			return nil, fmt.Errorf("no column %q; it has %s", column, strings.Join(head, ", "))
		}
	}
	var rows []hamRow
	seen := map[string]int{}
	values := make([]string, len(columns))
	for {
		record, err := in.Read()
		if err == io.EOF {
			return rows, nil
		} else if err != nil {
			return nil, err
		}
		line, _ := in.FieldPos(0)
		for i := range columns {
			values[i] = record[at[i]]
		}
		r, err := row(values)
		switch first, twice := seen[r.image]; {
		case err != nil:
			return nil, fmt.Errorf("line %d: %w", line, err)
		case r.image == "" || strings.ContainsAny(r.image, `/\`):
			return nil, fmt.Errorf("line %d: image_id %q is not the name of an image", line, r.image)
		case twice:
			return nil, fmt.Errorf("line %d: image %s stands on line %d too", line, r.image, first)
		}
		r.line = line
		seen[r.image] = line
		rows = append(rows, r)
	}
}
