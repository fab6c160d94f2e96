// Sweep files with one mistake each, and exactly what is said about it.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_replace.h"

#include "common/base/sweep_limits.h"
#include "common/trainer_protocol/fields.h"
#include "coordinator/sweep_file/sweep_file.h"

namespace noisefloor::sweep_file {
namespace {

// Every stack has our settings here.
absl::StatusOr<SettingsSchemaRef> AnySettings(const std::string&) { return OwnSchema(); }

struct BrokenFile {
  const char* name;
  const char* text;
  const char* message;  // After the file's name.
};

void PrintTo(const BrokenFile& file, std::ostream* out) { *out << file.name; }

const BrokenFile kBrokenFiles[] = {
    {"Empty", "", "1:1: expected a map (name: ..., noise: ...), got nothing"},
    {"List", "- a\n", "1:1: expected a map (name: ..., noise: ...), got [a]"},
    {"Scalar", "sweep\n", "1:1: expected a map (name: ..., noise: ...), got sweep"},
    {"TabInIndentation", "name: a\nnoise: [control]\ntrain:\n\tepochs: 3\n",
     "4:1: expected spaces in the indentation, got a tab"},
    {"UnclosedBrace", "name: a\nnoise: [control]\nmodel: {name: mlp\n",
     "3:8: not YAML: the { that opens here is never closed"},
    {"UnclosedQuote", "name: \"a\nnoise: [control]\n",
     "1:7: not YAML: the quote that opens here is never closed"},
    {"BadIndentation", "name: a\nnoise: [control]\ntrain:\n  epochs: 3\n batch_size: 4\n",
     "5:2: not YAML: this line is indented like no other of its map"},
    {"UnclosedList", "name: a\nnoise: [control\nseed: 3 # ]\n",
     "2:8: not YAML: the [ that opens here is never closed"},
    {"OtherBracketCloses", "name: a\nnoise: [{name: b]\n",
     "2:17: not YAML: expected } for the { in line 2, got ]"},
    {"LineWithoutColon", "name: a\ntrain:\n  epochs: 3\n  shards 4\nnoise: [control]\n",
     "4:3: not YAML: expected KEY: VALUE, got shards 4"},
    {"LineWithoutColonAtTheTop", "name: a # b: c\nseed 3\nnoise: [control]\n",
     "2:1: not YAML: expected KEY: VALUE, got seed 3"},
    {"QuotesInATextAreNone",
     "name: a\nnotes: |\n  it's \"this [\n\n  and that {\nnoise [control]\nseed: 3\n",
     "6:1: not YAML: expected KEY: VALUE, got noise [control]"},
    {"BracketsInQuotedTextsAreNone",
     "notes: \"a \\\", [ } b\"\ntags: {a: 'it'', [ } s'}\nnoise: [control\nname: a\n",
     "3:8: not YAML: the [ that opens here is never closed"},
    {"DecimalComma", "name: a\nnoise: [control]\ntrain: {optimizer: {learning_rate: 0,05}}\n",
     "3:38: train.optimizer.05: expected a key, got 05; in a decimal number a point stands before "
     "it: 0.05, not 0,05"},
    {"DecimalCommaOnALineOfItsOwn",
     "name: a\nnoise: [control]\ntrain:\n  optimizer:\n    learning_rate: 0,05\n",
     "5:20: train.optimizer.learning_rate: expected a number from 0 to 1e+30, got 0,05; a decimal "
     "number has a point: 0.05"},
    {"KindThatIsNone", "name: a\nkind: infer\nnoise: [control]\n",
     "2:7: kind: expected train or measure, got infer"},
    {"StepsThatNobodyMeasures", "name: a\nnoise: [control]\nmeasure: {steps: 7}\n",
     "3:18: measure.steps: expected kind: measure with it, got 7 in a sweep that trains"},
    {"AMeasurementOfNothing", "name: a\nkind: measure\nnoise: [control]\nmeasure: {steps: 0}\n",
     "4:18: measure.steps: expected 1 or more with kind: measure, got 0"},
    {"AxisOfASection", "name: a\nnoise: [control]\naxes: {train: [1]}\n",
     "3:8: axes.train: expected one setting, such as train.epochs, got the section train"},
    {"AxisOfTheSweepsSeed", "name: a\nnoise: [control]\naxes: {seed: [1, 2]}\n",
     "3:8: axes.seed: seed is the sweep's own and no axis; replicates and blocks repeat a cell "
     "with "
     "other draws"},
    {"AlmostAllHardware", "name: a\nnoise: [control]\nhardware: al\n",
     "3:11: hardware: expected all, any, a list of classes, or cpu-VENDOR-sse, -avx2 or -avx512 "
     "with vendor intel, amd or other, nvidia-MODEL, or what a worker declares, such as tpu-v4, "
     "got "
     "al; did you mean all?"},
    {"HardwareIsNoClass", "name: a\nnoise: [control]\nhardware: cpu-amd-avx9\n",
     "3:11: hardware: expected all, any, a list of classes, or cpu-VENDOR-sse, -avx2 or -avx512 "
     "with vendor intel, amd or other, nvidia-MODEL, or what a worker declares, such as tpu-v4, "
     "got "
     "cpu-amd-avx9"},
    {"TwoDocuments", "name: a\nnoise: [control]\n---\nname: b\n",
     "3:1: expected one document, got a second (---)"},
    {"Anchor", "name: a\nnoise: [control]\ntrain: &base {epochs: 3}\n",
     "3:8: expected a value, got an anchor (&name); write the value out"},
    {"AliasBomb", "a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n",
     "1:4: expected a value, got an anchor (&name); write the value out\ns.yaml:2:4: expected a "
     "value, got an anchor (&name); write the value out\ns.yaml:2:8: expected a value, got an "
     "alias (*name); write the value out\ns.yaml:2:12: expected a value, got an alias (*name); "
     "write the value out\ns.yaml:3:5: expected a value, got an alias (*name); write the value "
     "out\ns.yaml:3:9: expected a value, got an alias (*name); write the value out"},
    {"MergeKey", "name: a\nnoise: [control]\ntrain: {<<: *base}\n",
     "3:13: not YAML: the referenced anchor is not defined"},
    {"Tag", "name: a\nnoise: [control]\nseed: !!int 3\n",
     "3:7: expected a value, got the tag tag:yaml.org,2002:int; leave it out"},
    {"NotUtf8",
     "name: a\nnoise: [control]\nnotes: \xff"
     "\xfe"
     "\n",
     "3:8: expected UTF-8 text, got the byte 0xff"},
    {"Utf8ThatEndsTooSoon", "name: a\nnoise: [control]\nnotes: \xe2\x82\n",
     "3:8: expected UTF-8 text, got the byte 0xe2"},
    {"Utf8ThatTheTextEndsIn", "name: a\nnoise: [control]\nnotes: \xc3",
     "3:8: expected UTF-8 text, got the byte 0xc3"},
    {"Utf8ThatIsTooLong", "name: a\nnoise: [control]\nnotes: \xc0\x80\n",
     "3:8: expected UTF-8 text, got the byte 0xc0"},
    {"Utf8BeyondAllLetters", "name: a\nnoise: [control]\nnotes: \xf5\x80\x80\x80\n",
     "3:8: expected UTF-8 text, got the byte 0xf5"},
    {"Utf8WithoutABeginning", "name: a\nnoise: [control]\nnotes: \x80\n",
     "3:8: expected UTF-8 text, got the byte 0x80"},
    {"ControlCharacterBehindALetterOfThreeBytes", "name: a\nnoise: [control]\nnotes: \u20ac\x01\n",
     "3:9: expected text, got the control character 0x01"},
    {"ControlCharacter",
     "name: a\nnoise: [control]\nnotes: a\x01"
     "b\n",
     "3:9: expected text, got the control character 0x01"},
    {"KeyIsAList", "name: a\nnoise: [control]\n? [a, b]\n: c\n", "3:3: expected a key, got [a, b]"},
    {"DuplicateKey", "name: a\nname: b\nnoise: [control]\n",
     "2:1: name: expected each key once, got it again after line 1"},
    {"DuplicateSetting", "name: a\nnoise: [control]\ntrain: {epochs: 3, epochs: 4}\n",
     "3:20: train.epochs: expected each key once, got it again after line 3"},
    {"SettingTwiceInTwoWays",
     "name: a\nnoise: [control]\ntrain: {optimizer: {name: sgd}, optimizer.name: adam}\n",
     "3:33: train.optimizer.name: expected once, got a second value"},
    {"UnknownKey", "name: a\nnoise: [control]\nreplicate: 3\n",
     "3:1: replicate: unknown key; did you mean replicates?"},
    {"UnknownKeyNearNothing", "name: a\nnoise: [control]\nxyzzy: 3\n", "3:1: xyzzy: unknown key"},
    {"SettingAtTheTop", "name: a\nnoise: [control]\nepochs: 3\n",
     "3:1: epochs: unknown key; did you mean train.epochs?"},
    {"GroupAtTheTop", "name: a\nnoise: [control]\nschedule: {name: cosine}\n",
     "3:1: schedule: unknown key; did you mean train.schedule?"},
    {"OptimizerAtTheTop", "name: a\nnoise: [control]\noptimizer: {name: adam}\n",
     "3:1: optimizer: unknown key; did you mean train.optimizer?"},
    {"MisspeltSettingAtTheTop", "name: a\nnoise: [control]\noptimiser: adam\n",
     "3:1: optimiser: unknown key; did you mean train.optimizer?"},
    {"SettingThatIsAlmostAKey", "name: a\nnoise: [control]\nstep: 3\n",
     "3:1: step: unknown key; did you mean sources.poke.step?"},
    {"SettingInTheWrongSection", "name: a\nnoise: [control]\nmodel: {epochs: 3}\n",
     "3:9: model.epochs: unknown key; did you mean train.epochs?"},
    {"SettingOneLevelTooHigh", "name: a\nnoise: [control]\ntrain: {learning_rate: 0.1}\n",
     "3:9: train.learning_rate: unknown key; did you mean train.optimizer.learning_rate?"},
    {"OneOfTwoOfThatName", "name: a\nnoise: [control]\naxes: {optimizer.name: [sgd]}\n",
     "3:8: axes.optimizer.name: unknown key; did you mean train.optimizer.name?"},
    {"SettingWithAnUnderscoreForADot", "name: a\nnoise: [control]\ntrain: {optimizer_name: sgd}\n",
     "3:9: train.optimizer_name: unknown key; did you mean train.optimizer.name?"},
    {"SettingNearNothing", "name: a\nnoise: [control]\ntrain: {x: 3}\n",
     "3:9: train.x: unknown key"},
    {"UnknownSetting", "name: a\nnoise: [control]\ntrain: {epoch: 3}\n",
     "3:9: train.epoch: unknown key; did you mean train.epochs?"},
    {"UnknownSettingDeep", "name: a\nnoise: [control]\ntrain:\n  optimiser: {learning_rate: 0.1}\n",
     "4:15: train.optimiser.learning_rate: unknown key; did you mean "
     "train.optimizer.learning_rate?"},
    {"NoName", "noise: [control]\n", "1:1: name: expected a name for the sweep, got nothing"},
    {"NoNoise", "name: a\n",
     "1:1: noise: expected a list of noise plans, such as [control, algo, impl], got nothing"},
    {"NameWithSpace", "name: my sweep\nnoise: [control]\n",
     "1:7: name: expected 1 to 100 letters, digits, '-', '_' or '.', got my sweep"},
    {"NameIsAMap", "name: {a: b}\nnoise: [control]\n",
     "1:7: name: expected 1 to 100 letters, digits, '-', '_' or '.', got a map"},
    {"NameIsEmpty", "name:\nnoise: [control]\n",
     "1:1: name: expected 1 to 100 letters, digits, '-', '_' or '.', got nothing"},
    {"NegativeSeed", "name: a\nnoise: [control]\nseed: -1\n",
     "3:7: seed: expected an integer from 0 to 18446744073709551615, got -1"},
    {"SeedTooLarge", "name: a\nnoise: [control]\nseed: 18446744073709551616\n",
     "3:7: seed: expected an integer from 0 to 18446744073709551615, got 18446744073709551616"},
    {"NegativeReplicates", "name: a\nnoise: [control]\nreplicates: -3\n",
     "3:13: replicates: expected an integer from 1 to 100000, got -3"},
    {"NoReplicates", "name: a\nnoise: [control]\nreplicates: 0\n",
     "3:13: replicates: expected an integer from 1 to 100000, got 0"},
    {"FractionalReplicates", "name: a\nnoise: [control]\nreplicates: 2.5\n",
     "3:13: replicates: expected an integer from 1 to 100000, got 2.5"},
    {"QuotedReplicates", "name: a\nnoise: [control]\nreplicates: \"3\"\n",
     "3:13: replicates: expected an integer from 1 to 100000, got the text \"3\""},
    {"BlocksAreAList", "name: a\nnoise: [control]\nblocks: [1, 2]\n",
     "3:9: blocks: expected an integer from 1 to 10000, got [1, 2]"},
    {"HexInteger", "name: a\nnoise: [control]\ntrain: {epochs: 0x10}\n",
     "3:17: train.epochs: expected an integer from 0 to 100000, got 0x10; numbers are plain "
     "decimal"},
    {"Underscores", "name: a\nnoise: [control]\ntrain: {epochs: 1_000}\n",
     "3:17: train.epochs: expected an integer from 0 to 100000, got 1_000; numbers are plain "
     "decimal"},
    {"LeadingZero", "name: a\nnoise: [control]\ntrain: {epochs: 010}\n",
     "3:17: train.epochs: expected an integer from 0 to 100000, got 010; numbers are plain "
     "decimal"},
    {"NumberForInteger", "name: a\nnoise: [control]\ntrain: {epochs: 1e1}\n",
     "3:17: train.epochs: expected an integer from 0 to 100000, got 1e1"},
    {"BooleanForInteger", "name: a\nnoise: [control]\ntrain: {epochs: true}\n",
     "3:17: train.epochs: expected an integer from 0 to 100000, got true"},
    {"NothingForInteger", "name: a\nnoise: [control]\ntrain:\n  epochs:\n",
     "4:3: train.epochs: expected an integer from 0 to 100000, got nothing"},
    {"IntegerTooLarge", "name: a\nnoise: [control]\ntrain: {epochs: 99999999999999999999}\n",
     "3:17: train.epochs: expected an integer from 0 to 100000, got 99999999999999999999"},
    {"YesForBoolean", "name: a\nnoise: [control]\nmodel: {batch_norm: yes}\n",
     "3:21: model.batch_norm: expected true or false, got yes"},
    {"OneForBoolean", "name: a\nnoise: [control]\nmodel: {batch_norm: 1}\n",
     "3:21: model.batch_norm: expected true or false, got 1"},
    {"NanForNumber", "name: a\nnoise: [control]\ntrain: {optimizer: {learning_rate: .nan}}\n",
     "3:36: train.optimizer.learning_rate: expected a number from 0 to 1e+30, got .nan"},
    {"InfinityForNumber", "name: a\nnoise: [control]\ntrain: {optimizer: {learning_rate: inf}}\n",
     "3:36: train.optimizer.learning_rate: expected a number from 0 to 1e+30, got inf"},
    {"OverflowingNumber", "name: a\nnoise: [control]\ntrain: {optimizer: {learning_rate: 1e999}}\n",
     "3:36: train.optimizer.learning_rate: expected a number from 0 to 1e+30, got 1e999"},
    {"NegativeRate", "name: a\nnoise: [control]\ntrain: {optimizer: {learning_rate: -0.1}}\n",
     "3:36: train.optimizer.learning_rate: expected a number from 0 to 1e+30, got -0.1"},
    {"TextForNumber", "name: a\nnoise: [control]\ntrain: {optimizer: {learning_rate: '0.1'}}\n",
     "3:36: train.optimizer.learning_rate: expected a number from 0 to 1e+30, got the text "
     "\"0.1\""},
    {"WrongChoice", "name: a\nnoise: [control]\nmodel: {name: small_cn}\n",
     "3:15: model.name: expected one of small_cnn, medium_cnn, resnet18, mlp, kernel_cnn, lenet, "
     "resnet9, resnet9_whitened, "
     "resnet20, resnet50, resnet101, resnet152, vgg16, vgg19, densenet121, densenet169, "
     "densenet201, inception_v3, xception, mobilenet, efficientnet_b0, vit, got small_cn; did "
     "you mean small_cnn?"},
    {"MapForSetting", "name: a\nnoise: [control]\ntrain: {epochs: {a: 1}}\n",
     "3:17: train.epochs: expected an integer from 0 to 100000, got a map"},
    {"ScalarForSection", "name: a\nnoise: [control]\nmodel: mlp\n",
     "3:8: model: expected a map of settings, got mlp"},
    {"MilestonesOfText", "name: a\nnoise: [control]\ntrain: {schedule: {milestones: [1, two]}}\n",
     "3:32: train.schedule.milestones: expected a list of integers from 1 to 100000, got [1, two]"},
    {"AxesAreAList", "name: a\nnoise: [control]\naxes: [a]\n",
     "3:7: axes: expected a map of settings to lists of values, got [a]"},
    {"AxisIsEmpty", "name: a\nnoise: [control]\naxes: {train.epochs: []}\n",
     "3:22: axes.train.epochs: expected a list of values, got an empty list"},
    {"AxisIsAScalar", "name: a\nnoise: [control]\naxes: {train.epochs: 3}\n",
     "3:22: axes.train.epochs: expected a list of values, got 3"},
    {"AxisUnknown", "name: a\nnoise: [control]\naxes: {train.optimizer.lr: [1]}\n",
     "3:8: axes.train.optimizer.lr: unknown key; did you mean train.optimizer.learning_rate?"},
    {"AxisWithoutItsSections", "name: a\nnoise: [control]\naxes: {learning_rate: [1]}\n",
     "3:8: axes.learning_rate: unknown key; did you mean train.optimizer.learning_rate?"},
    {"AxisValueWrong", "name: a\nnoise: [control]\naxes: {train.epochs: [1, -1]}\n",
     "3:26: axes.train.epochs[1]: expected an integer from 0 to 100000, got -1"},
    {"ZipOfUnequalLengths",
     "name: a\nnoise: [control]\naxes:\n  zip:\n    train.epochs: [1, 2]\n    train.batch_size: "
     "[64]\n",
     "6:23: axes.zip.train.batch_size: expected 2 values, as many as train.epochs has, got 1"},
    {"ZipIsEmpty", "name: a\nnoise: [control]\naxes: {zip: {}}\n",
     "3:13: axes.zip: expected a map of settings to lists of equal length, got an empty map"},
    {"OneSettingOnTwoAxes",
     "name: a\nnoise: [control]\naxes:\n  train.epochs: [1, 2]\n  zip: {train.epochs: [3, 4]}\n",
     "5:8: axes.zip: expected each setting on one axis, got train.epochs on two"},
    {"NoiseIsAScalar", "name: a\nnoise: control\n",
     "2:8: noise: expected a list of noise plans, got control"},
    {"NoiseIsEmpty", "name: a\nnoise: []\n",
     "2:8: noise: expected a list of noise plans, got an empty list"},
    {"UnknownPlan", "name: a\nnoise: [contrl]\n",
     "2:9: noise[0]: expected control, algo, impl, algo+impl or a map {name: ..., init: free, "
     "...}, got contrl; did you mean control?"},
    {"PlanTwice", "name: a\nnoise: [algo, algo]\n",
     "2:15: noise[1]: expected different names, got algo again, as in noise[0]"},
    {"PlanWithoutName", "name: a\nnoise: [{init: free}]\n",
     "2:9: noise[0]: expected a name for this plan: {name: ..., ...}"},
    {"PlanNamedAsBuiltIn", "name: a\nnoise: [{name: impl, init: free}]\n",
     "2:9: noise[0].name: expected a name of your own, got impl, which is a built-in plan"},
    {"PlanWithoutReplicates", "name: a\nnoise: [{name: impl, replicates: 0}]\n",
     "2:34: noise[0].replicates: expected an integer from 1 to 100000, got 0"},
    {"PlanWithHalfABlock", "name: a\nnoise: [{name: p, init: free, blocks: 1.5}]\n",
     "2:39: noise[0].blocks: expected an integer from 1 to 10000, got 1.5"},
    {"PlanCountTwice", "name: a\nnoise: [{name: impl, blocks: 2, blocks: 3}]\n",
     "2:33: noise[0].blocks: expected each key once, got it again after line 2"},
    {"PlanCountMisspelt", "name: a\nnoise: [{name: impl, replicate: 3}]\n",
     "2:22: noise[0].replicate: unknown key; did you mean replicates?"},
    {"PlanNamedByAnotherKey", "name: a\nnoise: [{plan: impl, blocks: 3}]\n",
     "2:9: noise[0]: expected a name for this plan: {name: ..., ...}\n"
     "s.yaml:2:10: noise[0].plan: unknown key; did you mean name?"},
    {"BuiltInPlanWithCountsAndRules", "name: a\nnoise: [{name: impl, blocks: 3, init: free}]\n",
     "2:9: noise[0].name: expected a name of your own, got impl, which is a built-in plan"},
    {"CountedPlanThatIsNoPlan", "name: a\nnoise: [{name: imple, replicates: 6}]\n",
     "2:16: noise[0].name: expected control, algo, impl or algo+impl, or a base or a source of a "
     "plan of your own, got only imple; did you mean impl?"},
    {"ReferenceInPercent", "name: a\nnoise: [control]\nreference_accuracy: 85\n",
     "3:21: reference_accuracy: expected a number above 0 and at most 1 (0.85 for 85 %), got 85"},
    {"ReferenceOfNothing", "name: a\nnoise: [control]\nreference_accuracy: 0\n",
     "3:21: reference_accuracy: expected a number above 0 and at most 1 (0.85 for 85 %), got 0"},
    {"UntilOfNothing", "name: a\nnoise: [algo]\nuntil: churn\n",
     "3:8: until: expected {figure: churn, half_width: 0.5%, most: 60}, got churn"},
    {"UntilWithoutABound", "name: a\nnoise: [algo]\nuntil: {figure: churn, half_width: 0.5%}\n",
     "3:8: until: expected most in it, got none"},
    {"UntilByAnUnknownKey",
     "name: a\nnoise: [algo]\nuntil: {figure: churn, half_width: 1%, most: 20, width: 3}\n",
     "3:50: until.width: unknown key"},
    {"UntilOfHalfOfIt",
     "name: a\nnoise: [algo]\nuntil: {figure: churn, half_width: 0.5, most: 20}\n",
     "3:36: until.half_width: expected a share of the answers from 0.01% to below 10%, such as "
     "0.5%, "
     "got 0.5"},
    {"UnknownSource", "name: a\nnoise: [{name: p, data_odrer: free}]\n",
     "2:19: noise[0].data_odrer: unknown key; did you mean data_order?"},
    {"UnknownSourceState", "name: a\nnoise: [{name: p, init: fre}]\n",
     "2:25: noise[0].init: expected one of off, fixed, free or {levels: [...]}, got fre; did you "
     "mean free?"},
    {"BooleanSourceState", "name: a\nnoise: [{name: p, init: true}]\n",
     "2:25: noise[0].init: expected one of off, fixed, free or {levels: [...]}, got true"},
    {"RuleOfNothing", "name: a\nnoise: [{name: p, init: {}}]\n",
     "2:25: noise[0].init: expected levels: [0, 1, ...]"},
    {"LevelsMisspelt", "name: a\nnoise: [{name: p, init: {level: [0, 1]}}]\n",
     "2:26: noise[0].init.level: unknown key; did you mean levels?"},
    {"LevelsAreNoList", "name: a\nnoise: [{name: p, init: {levels: 2}}]\n",
     "2:34: noise[0].init.levels: expected a list of levels, got 2"},
    {"LevelIsNoNumber", "name: a\nnoise: [{name: p, init: {levels: [0, one]}}]\n",
     "2:38: noise[0].init.levels[1]: expected a level from 0 to 99999, got one"},
    {"LevelBelowZero", "name: a\nnoise: [{name: p, init: {levels: [0, -1]}}]\n",
     "2:38: noise[0].init.levels[1]: expected a level from 0 to 99999, got -1"},
    {"CrossWithoutLevels", "name: a\nnoise: [{name: p, cross: [init]}]\n",
     "2:26: noise[0]: expected cross and levels together: {name: ..., cross: [init, data_order], "
     "levels: 2}"},
    {"LevelsOfThePlanWithoutCross", "name: a\nnoise: [{name: p, init: free, levels: 2}]\n",
     "2:39: noise[0]: expected cross and levels together: {name: ..., cross: [init, data_order], "
     "levels: 2}"},
    {"CrossIsNoList", "name: a\nnoise: [{name: p, cross: init, levels: 2}]\n",
     "2:26: noise[0].cross: expected a list of seeded noise sources, got init"},
    {"CrossedSourceMisspelt", "name: a\nnoise: [{name: p, cross: [init, ordre], levels: 2}]\n",
     "2:33: noise[0].cross[1]: expected a seeded noise source, got ordre"},
    {"CrossedSourceNearlyRight",
     "name: a\nnoise: [{name: p, cross: [init, data_odrer], levels: 2}]\n",
     "2:33: noise[0].cross[1]: expected a seeded noise source, got data_odrer; did you mean "
     "data_order?"},
    {"CrossedPhysicalSource", "name: a\nnoise: [{name: p, cross: [init, kernels], levels: 2}]\n",
     "2:33: noise[0].cross[1]: expected a seeded noise source, got kernels, which has no draws "
     "that levels could share"},
    {"CrossedTwice", "name: a\nnoise: [{name: p, cross: [init, init], levels: 2}]\n",
     "2:33: noise[0].cross[1]: expected each source once, got init again"},
    {"CrossedAndFree", "name: a\nnoise: [{name: p, cross: [init], levels: 2, init: free}]\n",
     "2:27: noise[0].cross[0]: expected each source once, got init beside a rule of its own"},
    {"CrossedAtOneLevel", "name: a\nnoise: [{name: p, cross: [init], levels: 1}]\n",
     "2:42: noise[0].levels: expected an integer from 2 to 10000, got 1"},
    {"LevelsForTooFewSources",
     "name: a\nnoise: [{name: p, cross: [init, data_order], levels: [2]}]\n",
     "2:54: noise[0].levels: expected one number for each of 2 crossed sources, got 1"},
    {"TooManyCombinations", "name: a\nnoise: [{name: p, cross: [init, data_order], levels: 101}]\n",
     "2:54: noise[0].levels: expected at most 10000 combinations of levels, got more"},
    {"CrossingThatIsNotComplete",
     "name: a\nnoise: [{name: p, cross: [init, data_order], levels: 2, replicates: 6}]\n",
     "2:69: noise[0].replicates: expected a multiple of 4, the combinations of levels, got 6"},
    {"CrossingNamedAsBuiltIn", "name: a\nnoise: [{name: algo, cross: [init], levels: 2}]\n",
     "2:9: noise[0].name: expected a name of your own, got algo, which is a built-in plan"},
    {"PickFreezeOfTwo", "name: a\nnoise: [{name: p, pick_freeze: [init, data_order]}]\n",
     "2:32: noise[0].pick_freeze: expected three sources or more, got 2; cross them instead"},
    {"PickFreezeAndCross",
     "name: a\nnoise: [{name: p, pick_freeze: [init, data_order, augment], levels: 2}]\n",
     "2:32: noise[0].pick_freeze: expected it without cross and levels"},
    {"RepeatsOfNothing", "name: a\nnoise: [{name: p, init: free, repeats: 2}]\n",
     "2:40: noise[0].repeats: expected pick_freeze beside it, whose first point it repeats"},
    {"PickFreezeThatIsNotComplete",
     "name: a\nnoise: [{name: p, pick_freeze: [init, data_order, augment], replicates: 6}]\n",
     "2:73: noise[0].replicates: expected a multiple of 7, the points of the design, got 6"},
    {"DesignIsAList", "name: a\ndesign: [init]\n",
     "2:9: design: expected a map {cross: [init, data_order], levels: 2, blocks: 6}, got [init]"},
    {"DesignMisspelt", "name: a\ndesign: {cros: [init]}\n",
     "2:10: design.cros: unknown key; did you mean cross?"},
    {"DesignOfNothing", "name: a\ndesign: {blocks: 6, replicates: 8}\n",
     "2:9: design: expected cross, pick_freeze, a base or the state of a source, or nothing "
     "varies"},
    {"DesignTwice",
     "name: a\ndesign: {cross: [init], levels: 2}\ndesign: {cross: [init], levels: 3}\n",
     "3:1: design: expected each key once, got it again after line 2"},
    {"DesignNamedAsAPlan", "name: a\nnoise: [control]\ndesign: {name: control, replicates: 2}\n",
     "3:9: design: expected another name than control, which a plan of noise has"},
    {"UnknownBase", "name: a\nnoise: [{name: p, base: alg}]\n",
     "2:25: noise[0].base: expected one of control, algo, impl, algo+impl, got alg; did you mean "
     "algo?"},
    {"HardwareIsAMap", "name: a\nnoise: [control]\nhardware: {all: true}\n",
     "3:11: hardware: expected all, any, a hardware class or a list of them, got a map"},
    {"HardwareIsEmpty", "name: a\nnoise: [control]\nhardware: []\n",
     "3:11: hardware: expected a list of names, got an empty list"},
    {"HardwareTwice",
     "name: a\nnoise: [control]\nhardware: [cpu-amd-avx2, cpu-amd-sse, cpu-amd-avx2]\n",
     "3:39: hardware[2]: expected different names, got cpu-amd-avx2 again"},
    {"HardwareOfAWordInAList", "name: a\nnoise: [control]\nhardware: [all, cpu-amd-sse]\n",
     "3:12: hardware[0]: expected cpu-VENDOR-sse, -avx2 or -avx512 with vendor intel, amd or "
     "other, nvidia-MODEL, or what a worker declares, such as tpu-v4, got all"},
    {"StackIsAList", "name: a\nnoise: [control]\nstack: [a, b]\n",
     "3:8: stack: expected one stack, got [a, b]; use stacks"},
    {"StackAndStacks", "name: a\nnoise: [control]\nstacks: [a]\nstack: b\n",
     "4:8: stack: expected stack or stacks, got both"},
    {"TagsAreAList", "name: a\nnoise: [control]\ntags: [a]\n",
     "3:7: tags: expected a map of at most 100 names to texts, got [a]"},
    {"TagTooLong",
     "name: a\nnoise: [control]\ntags: {a: "
     "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
     "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
     "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx}\n",
     "3:11: tags.a: expected a text of 1 to 200 bytes, got 201"},
    {"TagIsAMap", "name: a\nnoise: [control]\ntags: {a: {b: c}}\n",
     "3:11: tags.a: expected a text of 1 to 200 bytes, got a map"},
    {"NotesAreAList", "name: a\nnoise: [control]\nnotes: [a]\n",
     "3:8: notes: expected a text of 1 to 10000 bytes, got [a]"},
};

class BrokenSweepFileTest : public ::testing::TestWithParam<BrokenFile> {};

TEST_P(BrokenSweepFileTest, IsRefusedWithItsPlace) {
  const absl::StatusOr<SweepFile> file = ParseSweep(GetParam().text, "s.yaml", AnySettings);

  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Message(file.status()), std::string("s.yaml:") + GetParam().message);
}

// As an editor on Windows writes it.
TEST_P(BrokenSweepFileTest, IsRefusedInTheSameWordsWithOtherEndsOfLines) {
  const std::string windows = absl::StrReplaceAll(GetParam().text, {{"\n", "\r\n"}});
  EXPECT_EQ(Message(ParseSweep(windows, "s.yaml", AnySettings).status()),
            std::string("s.yaml:") + GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(Each, BrokenSweepFileTest, ::testing::ValuesIn(kBrokenFiles),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(BrokenSweepFileTest, EveryMistakeIsToldInTheOrderOfTheFile) {
  const auto file = ParseSweep(
      "name: my sweep\nreplicates: 0\ntrain: {epoch: 1, shards: x}\nnoise: [algo, imp]\n", "s.yaml",
      AnySettings);

  EXPECT_EQ(Message(file.status()),
            "s.yaml:1:7: name: expected 1 to 100 letters, digits, '-', '_' or '.', got my sweep\n"
            "s.yaml:2:13: replicates: expected an integer from 1 to 100000, got 0\n"
            "s.yaml:3:9: train.epoch: unknown key; did you mean train.epochs?\n"
            "s.yaml:3:27: train.shards: expected an integer from 1 to 64, got x\n"
            "s.yaml:4:15: noise[1]: expected control, algo, impl, algo+impl or a map {name: ..., "
            "init: free, ...}, got imp; did you mean impl?");
}

TEST(BrokenSweepFileTest, AFileThatIsTooLargeIsNotRead) {
  const std::string text = "name: a\n#" + std::string(1 << 20, 'x');

  EXPECT_EQ(Message(ParseSweep(text, "s.yaml", AnySettings).status()),
            "s.yaml:1:1: expected a sweep file of at most 1048576 bytes, got 1048585");
}

TEST(BrokenSweepFileTest, AnAxisThatIsTooLongIsRefused) {
  std::string text = "name: a\nnoise: [control]\naxes: {train.epochs: [1";
  for (int i = 0; i < 10'000; ++i) text += ",1";

  EXPECT_EQ(Message(ParseSweep(text + "]}\n", "s.yaml", AnySettings).status()),
            "s.yaml:3:22: axes.train.epochs: expected at most 10000 values, got 10001");
}

std::string FileWithAxes(size_t count) {
  std::string text = "name: a\nnoise: [control]\naxes:\n";
  for (size_t i = 0; i < count; ++i) text += fmt::format("  {}: [1]\n", AllFields()[i].rule.path);
  return text;
}

// Their values are wrong too, but for one limit only one number is told.
TEST(BrokenSweepFileTest, TooManyAxesAreRefusedByTheLimitOfTheCore) {
  const auto told = [](size_t axes) {
    return Message(ParseSweep(FileWithAxes(axes), "s", AnySettings).status());
  };

  EXPECT_THAT(told(sweep::kMaxAxes), testing::Not(testing::HasSubstr("axes, got")));
  EXPECT_THAT(told(sweep::kMaxAxes + 1),
              testing::HasSubstr("s:4:3: axes: expected at most 20 axes, got 21"));
}

TEST(BrokenSweepFileTest, TooManyValuesInAllAreRefused) {
  std::string text = "name: a\nnoise: [control]\nnotes: [1";
  for (int i = 0; i < 200'000; ++i) text += ",1";

  const std::string message = Message(ParseSweep(text + "]\n", "s.yaml", AnySettings).status());

  EXPECT_NE(message.find("expected at most 200000 values in a sweep file"), std::string::npos);
}

TEST(BrokenSweepFileTest, AKeyThatIsTooLongIsNearNothing) {
  const std::string key(100'000, 's');

  EXPECT_EQ(Message(ParseSweep("name: a\nnoise: [control]\ntrain: {? " + key + " : 1}\n", "s.yaml",
                               AnySettings)
                        .status()),
            "s.yaml:3:11: train." + key + ": unknown key");
}

TEST(BrokenSweepFileTest, ATextThatIsTooDeepIsRefused) {
  const std::string text = "name: a\nnoise: " + std::string(100'000, '[');

  EXPECT_EQ(Message(ParseSweep(text, "s.yaml", AnySettings).status()),
            "s.yaml:2:33: nested too deep: expected at most 50 lists and maps inside one another");
}

TEST(BrokenSweepFileTest, OnlyTheFirstFiftyMistakesAreShown) {
  std::string text = "name: a\nnoise: [control]\n";
  for (int i = 0; i < 60; ++i) text += "zzzzzz" + std::to_string(i) + "qqqq: 1\n";

  const std::string message = Message(ParseSweep(text, "s.yaml", AnySettings).status());

  EXPECT_TRUE(message.ends_with("s.yaml: and 10 more mistakes")) << message;
}

}  // namespace
}  // namespace noisefloor::sweep_file
