#include "plan/memory_flow.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "core/error.h"

namespace etrt {
namespace {

// Bytes of one planned buffer.
struct Place {
  size_t buffer = 0;
  uint64_t begin = 0;
  uint64_t end = 0;
  bool empty() const { return begin == end; }
  bool overlaps(const Place& o) const { return buffer == o.buffer && begin < o.end && o.begin < end; }
  bool contains(const Place& o) const { return buffer == o.buffer && begin <= o.begin && o.end <= end; }
};

// A set of bytes per buffer, as disjoint intervals: begin to end.
class Coverage {
 public:
  void add(const Place& p) {
    auto& intervals = buffers_[p.buffer];
    uint64_t begin = p.begin;
    uint64_t end = p.end;
    auto it = intervals.upper_bound(begin);
    if (it != intervals.begin() && std::prev(it)->second >= begin) {
      --it;
    }
    while (it != intervals.end() && it->first <= end) {
      begin = std::min(begin, it->first);
      end = std::max(end, it->second);
      it = intervals.erase(it);
    }
    intervals[begin] = end;
  }
  bool covers(const Place& p) const {
    const auto buffer = buffers_.find(p.buffer);
    if (buffer == buffers_.end()) {
      return p.empty();
    }
    auto it = buffer->second.upper_bound(p.begin);
    return p.empty() || (it != buffer->second.begin() && std::prev(it)->second >= p.end);
  }
  void intersect(const Coverage& other) {
    std::map<size_t, std::map<uint64_t, uint64_t>> result;
    for (const auto& [buffer, intervals] : buffers_) {
      const auto theirs = other.buffers_.find(buffer);
      if (theirs == other.buffers_.end()) {
        continue;
      }
      for (const auto& [b, e] : intervals) {
        for (const auto& [ob, oe] : theirs->second) {
          if (std::max(b, ob) < std::min(e, oe)) {
            result[buffer][std::max(b, ob)] = std::min(e, oe);
          }
        }
      }
    }
    buffers_ = std::move(result);
  }
  bool operator==(const Coverage&) const = default;

 private:
  std::map<size_t, std::map<uint64_t, uint64_t>> buffers_;
};

enum class Access : uint8_t { Read, Write, ReadWrite, ReadIfWritten };

struct Use {
  int32_t value;
  Access access;
  bool trusted = true;  // false: an operator without a schema, which may or may not write
};

class MemoryFlow {
 public:
  explicit MemoryFlow(Plan& plan) : plan_(plan), values_(*plan.method().values()) {
    find_places();
    find_uses();
  }

  void run() {
    find_replaced();
    follow_coverage();
    find_written_roots();
    collect_state();
    follow_inputs();
    for (InputPlan& input : plan_.inputs) {
      input.copied = input.copied || (input.planned && input.written);
    }
  }

 private:
  const fb::Tensor* tensor(int32_t value) const {
    return values_.Get(static_cast<flatbuffers::uoffset_t>(value))->val_as_Tensor();
  }
  std::span<const int32_t> args(const Step& step) const {
    return std::span(plan_.args).subspan(step.first_arg, step.arg_count);
  }
  size_t at(int32_t value) const { return static_cast<size_t>(value); }

  void find_places() {
    places_.resize(values_.size());
    is_input_.resize(values_.size(), -1);
    for (flatbuffers::uoffset_t i = 0; i < values_.size(); ++i) {
      const fb::Tensor* t = values_.Get(i)->val_as_Tensor();
      if (t == nullptr || tensor_storage(*t) != TensorStorage::Planned) {
        continue;
      }
      const PlannedPlace place = planned_place(*t);
      const auto size = static_cast<uint64_t>(tensor_nbytes(*t).value_or(0));
      places_[i] = Place{place.buffer, place.offset, place.offset + size};
    }
    for (size_t i = 0; i < plan_.inputs.size(); ++i) {
      InputPlan& input = plan_.inputs[i];
      if (is_input_[at(input.value)] < 0) {
        is_input_[at(input.value)] = static_cast<int32_t>(i);
      }
      input.planned = places_[at(input.value)].has_value();
    }
  }

  // The tensors of an argument: itself, or a list's items.
  template <class F>
  void each_tensor(int32_t value, F&& f) const {
    const auto* v = values_.Get(static_cast<flatbuffers::uoffset_t>(value));
    const auto list = [&](const auto* items) {
      for (const auto item : items_of(items)) {
        if (item >= 0) {
          f(static_cast<int32_t>(item));
        }
      }
    };
    if (const auto* tensors = v->val_as_TensorList()) {
      list(tensors->items());
    } else if (const auto* optional = v->val_as_OptionalTensorList()) {
      list(optional->items());
    } else {
      f(value);
    }
  }

  void find_uses() {
    uses_.resize(plan_.steps.size());
    for (size_t i = 0; i < plan_.steps.size(); ++i) {
      const Step& step = plan_.steps[i];
      switch (step.kind) {
        case Step::Kind::Kernel:
          kernel_uses(step, schema_of(*step.op), uses_[i]);
          break;
        case Step::Kind::Delegate:
          for (const int32_t arg : args(step)) {
            each_tensor(arg, [&](int32_t v) { uses_[i].push_back({v, Access::ReadIfWritten}); });
          }
          break;
        case Step::Kind::Move:
        case Step::Kind::JumpFalse:
          each_tensor(args(step)[0], [&](int32_t v) { uses_[i].push_back({v, Access::Read}); });
          break;
        case Step::Kind::Free:
          break;
      }
    }
  }

  void kernel_uses(const Step& step, const Schema& schema, std::vector<Use>& uses) {
    const auto a = args(step);
    if (schema.arguments.empty()) {
      unknown_uses(a, uses);
      return;
    }
    // Reads first: an output may lie where an input was.
    for (const bool writes : {false, true}) {
      for (size_t k = 0; k < schema.arguments.size(); ++k) {
        const SchemaArgument& arg = schema.arguments[k];
        if (arg.written != writes) {
          continue;
        }
        const Access access = !arg.written ? Access::Read : arg.keyword_only ? Access::Write : Access::ReadWrite;
        each_tensor(a[k], [&](int32_t v) { uses.push_back({v, access}); });
      }
    }
    // The results of an operator without an out argument stand after its arguments.
    for (size_t k = schema.arguments.size(); !schema.out_variant && k < a.size(); ++k) {
      each_tensor(a[k], [&](int32_t v) { uses.push_back({v, Access::Write}); });
    }
  }

  // Without a schema: what is returned too is an output, everything else may be read and written.
  void unknown_uses(std::span<const int32_t> a, std::vector<Use>& uses) const {
    if (a.empty()) {
      return;
    }
    std::set<int32_t> outputs;
    each_tensor(a.back(), [&](int32_t v) { outputs.insert(v); });
    for (const int32_t arg : a.first(a.size() - 1)) {
      each_tensor(arg, [&](int32_t v) {
        if (outputs.count(v) == 0) {
          uses.push_back({v, Access::ReadWrite, false});
        }
      });
    }
    for (const int32_t v : outputs) {
      uses.push_back({v, Access::Write});
    }
  }

  bool aliases(const Step& step) const { return step.kind == Step::Kind::Kernel && (step.op->facts & kAliases) != 0; }

  // Results of operators without outputs go to such places.
  bool is_number(int32_t value) const {
    const auto type = values_.Get(static_cast<flatbuffers::uoffset_t>(value))->val_type();
    return type == fb::KernelTypes::Null || type == fb::KernelTypes::Int || type == fb::KernelTypes::Bool ||
           type == fb::KernelTypes::Double;
  }

  // Values whose handle or number is replaced by a step, and who may share memory with whom by that.
  void find_replaced() {
    std::set<int32_t> replaced;
    for (size_t i = 0; i < plan_.steps.size(); ++i) {
      const Step& step = plan_.steps[i];
      if (step.kind == Step::Kind::Move) {
        replaced.insert(args(step)[1]);
        shares_.emplace_back(args(step)[0], args(step)[1]);
      } else if (aliases(step)) {
        for (const Use& use : uses_[i]) {
          if (use.access != Access::Read) {
            replaced.insert(use.value);
            shares_.emplace_back(args(step)[0], use.value);
          }
        }
      } else if (step.kind == Step::Kind::Kernel && step.arg_count > 0 && is_number(args(step).back())) {
        replaced.insert(args(step).back());
      }
    }
    plan_.replaced.assign(replaced.begin(), replaced.end());
    replaced_ = std::move(replaced);
  }

  // The place of a value whose bytes are where the file says; nothing for one that is elsewhere by then.
  const Place* place(int32_t value) const {
    const auto& p = places_[at(value)];
    return p.has_value() && !p->empty() && replaced_.count(value) == 0 ? &*p : nullptr;
  }

  struct Block {
    size_t begin;
    size_t end;
    std::vector<size_t> next;
    std::optional<Coverage> in;  // nothing: not reached yet
  };

  std::vector<Block> blocks() {
    std::set<size_t> leaders = {0};
    for (size_t i = 0; i < plan_.steps.size(); ++i) {
      if (plan_.steps[i].kind == Step::Kind::JumpFalse) {
        leaders.insert(i + 1);
        leaders.insert(plan_.steps[i].target);
        straight_ = false;
      }
    }
    leaders.insert(plan_.steps.size());
    std::vector<Block> out;
    std::map<size_t, size_t> index;
    for (const size_t leader : leaders) {
      index[leader] = out.size();
      out.push_back({leader, leader, {}, {}});
    }
    for (size_t b = 0; b + 1 < out.size(); ++b) {
      out[b].end = out[b + 1].begin;
      out[b].next.push_back(b + 1);
      const Step& last = plan_.steps[out[b].end - 1];
      if (last.kind == Step::Kind::JumpFalse) {
        out[b].next.push_back(index[last.target]);
      }
    }
    return out;  // the last one is the end of the method
  }

  // Bytes that each step may rely on being written in this run; the rest of what is read is state.
  void follow_coverage() {
    std::vector<Block> all = blocks();
    Coverage start;
    for (const InputPlan& input : plan_.inputs) {
      if (const Place* p = place(input.value)) {
        start.add(*p);
      }
    }
    all[0].in = start;
    std::vector<size_t> todo = {0};
    // Each block's set only shrinks, so this ends; the bound keeps a hostile file from making it long.
    size_t budget = 64 * all.size() + 1024;
    while (!todo.empty() && budget-- > 0) {
      const size_t b = todo.back();
      todo.pop_back();
      Coverage coverage = *all[b].in;
      for (size_t i = all[b].begin; i < all[b].end; ++i) {
        step_coverage(i, coverage);
      }
      for (const size_t next : all[b].next) {
        std::optional<Coverage>& in = all[next].in;
        Coverage merged = coverage;
        if (in.has_value()) {
          merged.intersect(*in);
        }
        if (!in.has_value() || !(merged == *in)) {
          in = std::move(merged);
          todo.push_back(next);
        }
      }
    }
    for (const Block& block : all) {
      if (!block.in.has_value()) {
        continue;
      }
      Coverage coverage = *block.in;
      for (size_t i = block.begin; i < block.end; ++i) {
        mark_uncovered(uses_[i], coverage);
        step_coverage(i, coverage);
      }
    }
    if (all.back().in.has_value()) {
      std::vector<Use> at_end;
      for (const int32_t output : plan_.outputs) {
        each_tensor(output, [&](int32_t v) { at_end.push_back({v, Access::Read}); });
      }
      mark_uncovered(at_end, *all.back().in);
    }
  }

  void step_coverage(size_t step, Coverage& coverage) const {
    for (const Use& use : uses_[step]) {
      const Place* p = place(use.value);
      if (p != nullptr && use.access != Access::Read) {
        coverage.add(*p);
      }
    }
  }

  void mark_uncovered(const std::vector<Use>& uses, const Coverage& coverage) {
    for (const Use& use : uses) {
      const Place* p = place(use.value);
      if (p != nullptr && (use.access == Access::Read || use.access == Access::ReadWrite) && !coverage.covers(*p)) {
        state_values_.push_back(use.value);
      }
    }
  }

  // Inputs and constants that are written, by themselves or through a value that shares their memory.
  void find_written_roots() {
    std::map<int32_t, std::set<int32_t>> roots;
    for (size_t i = 0; i < places_.size(); ++i) {
      const auto v = static_cast<int32_t>(i);
      const fb::Tensor* t = tensor(v);
      if (t != nullptr && (is_input_[i] >= 0 || tensor_storage(*t) == TensorStorage::Constant)) {
        roots[v].insert(v);
      }
    }
    for (bool grown = true; grown;) {
      grown = false;
      for (const auto& [from, to] : shares_) {
        const auto it = roots.find(from);
        if (it == roots.end()) {
          continue;
        }
        const std::set<int32_t> theirs = it->second;
        auto& mine = roots[to];
        const size_t before = mine.size();
        mine.insert(theirs.begin(), theirs.end());
        grown = grown || mine.size() != before;
      }
    }
    for (size_t i = 0; i < plan_.steps.size(); ++i) {
      if (aliases(plan_.steps[i])) {
        continue;
      }
      for (const Use& use : uses_[i]) {
        const auto it = roots.find(use.value);
        if ((use.access != Access::Write && use.access != Access::ReadWrite) || it == roots.end()) {
          continue;
        }
        for (const int32_t root : it->second) {
          if (is_input_[at(root)] >= 0) {
            plan_.inputs[static_cast<size_t>(is_input_[at(root)])].written = true;
          } else if (use.trusted) {
            written_constants_.insert(root);
          }
        }
      }
    }
  }

  void collect_state() {
    for (size_t i = 0; i < places_.size(); ++i) {
      const auto v = static_cast<int32_t>(i);
      const fb::Tensor* t = tensor(v);
      if (t != nullptr && place(v) != nullptr && is_input_[i] < 0 &&
          (has_initial_bytes(*t) || !tensor_name(*t).empty())) {
        state_values_.push_back(v);
      }
    }
    std::vector<Place> regions;
    for (const int32_t v : state_values_) {
      regions.push_back(*places_[at(v)]);
    }
    close(regions);
    for (const Place& region : regions) {
      add_state(region);
    }
    for (const int32_t v : written_constants_) {
      add_state_of(v);
    }
    // Exported with alloc_mutable_buffers=False, a buffer has a name and no place.
    for (size_t i = 0; i < places_.size(); ++i) {
      const auto v = static_cast<int32_t>(i);
      const fb::Tensor* t = tensor(v);
      if (t != nullptr && is_input_[i] < 0 && replaced_.count(v) == 0 && tensor_storage(*t) == TensorStorage::None &&
          static_cast<Dynamism>(t->shape_dynamism()) == Dynamism::Static && !tensor_name(*t).empty()) {
        add_state_of(v);
      }
    }
  }

  // One tensor that lies in no planned memory.
  void add_state_of(int32_t value) {
    StateBuffer buffer;
    buffer.value = value;
    buffer.size = static_cast<uint64_t>(tensor_nbytes(*tensor(value)).value_or(0));
    buffer.members.push_back({value, 0});
    name(buffer);
    plan_.state.push_back(std::move(buffer));
  }

  // Merges regions that overlap and takes in whatever lies across their edges.
  void close(std::vector<Place>& regions) const {
    for (bool changed = true; changed;) {
      changed = false;
      std::sort(regions.begin(), regions.end(), [](const Place& a, const Place& b) {
        return std::pair(a.buffer, a.begin) < std::pair(b.buffer, b.begin);
      });
      std::vector<Place> merged;
      for (const Place& r : regions) {
        if (!merged.empty() && merged.back().overlaps(r)) {
          merged.back().end = std::max(merged.back().end, r.end);
        } else {
          merged.push_back(r);
        }
      }
      regions = std::move(merged);
      for (const auto& p : places_) {
        if (!p.has_value() || p->empty()) {
          continue;
        }
        for (Place& r : regions) {
          if (r.overlaps(*p) && !r.contains(*p)) {
            r.begin = std::min(r.begin, p->begin);
            r.end = std::max(r.end, p->end);
            changed = true;
          }
        }
      }
    }
  }

  void add_state(const Place& region) {
    StateBuffer buffer;
    buffer.size = region.end - region.begin;
    buffer.value = -1;
    for (size_t i = 0; i < places_.size(); ++i) {
      const auto& p = places_[i];
      if (!p.has_value() || p->empty() || !region.contains(*p)) {
        continue;
      }
      const auto v = static_cast<int32_t>(i);
      buffer.members.push_back({v, p->begin - region.begin});
      if (is_input_[i] >= 0) {
        plan_.inputs[static_cast<size_t>(is_input_[i])].copied = true;
      }
    }
    const auto marked = [&](int32_t v) { return region.contains(*places_[at(v)]); };
    for (const int32_t v : state_values_) {
      if (marked(v) &&
          (buffer.value < 0 || (tensor_name(*tensor(buffer.value)).empty() && !tensor_name(*tensor(v)).empty()))) {
        buffer.value = v;
      }
    }
    name(buffer);
    plan_.state.push_back(std::move(buffer));
  }

  void name(StateBuffer& buffer) const {
    const std::string_view own = tensor_name(*tensor(buffer.value));
    buffer.named = !own.empty();
    buffer.name = buffer.named ? std::string(own) : format_text("#{}/{}", plan_.method_name, buffer.value);
  }

  // Which planned values are views of an input, and which inputs something else reads from planned memory.
  void follow_inputs() {
    std::set<int32_t> ever_written;
    for (const auto& uses : uses_) {
      for (const Use& use : uses) {
        if (use.access != Access::Read) {
          ever_written.insert(use.value);
        }
      }
    }
    if (!straight_) {
      copy_viewed_inputs(ever_written);
      return;
    }
    // Who wrote each byte last: interval begin -> (end, input index or -1).
    std::map<std::pair<size_t, uint64_t>, std::pair<uint64_t, int32_t>> owners;
    const auto put = [&](const Place& p, int32_t owner) {
      auto it = owners.lower_bound({p.buffer, p.begin});
      if (it != owners.begin()) {
        auto before = std::prev(it);
        if (before->first.first == p.buffer && before->second.first > p.begin) {
          const auto old = before->second;
          before->second.first = p.begin;
          if (old.first > p.end) {
            owners[{p.buffer, p.end}] = old;
          }
        }
      }
      it = owners.lower_bound({p.buffer, p.begin});
      while (it != owners.end() && it->first.first == p.buffer && it->first.second < p.end) {
        const auto old = it->second;
        it = owners.erase(it);
        if (old.first > p.end) {
          owners[{p.buffer, p.end}] = old;
        }
      }
      owners[{p.buffer, p.begin}] = {p.end, owner};
    };
    for (size_t i = 0; i < plan_.inputs.size(); ++i) {
      if (const Place* p = place(plan_.inputs[i].value)) {
        put(*p, static_cast<int32_t>(i));
      }
    }
    std::set<std::pair<int32_t, int32_t>> seen;
    const auto read = [&](int32_t value, bool writes) {
      const Place* p = place(value);
      if (p == nullptr) {
        return;
      }
      auto it = owners.upper_bound({p->buffer, p->begin});
      if (it != owners.begin()) {
        --it;
      }
      for (; it != owners.end() && it->first.first == p->buffer && it->first.second < p->end; ++it) {
        if (it->second.first <= p->begin || it->second.second < 0) {
          continue;
        }
        const int32_t i = it->second.second;
        InputPlan& input = plan_.inputs[static_cast<size_t>(i)];
        if (value == input.value) {
          continue;
        }
        input.written = input.written || writes;
        if (it->first.second > p->begin || it->second.first < p->end || ever_written.count(value) != 0 ||
            is_input_[at(value)] >= 0 || !places_[at(input.value)]->contains(*p)) {
          input.copied = true;
        } else if (seen.insert({i, value}).second) {
          input.views.push_back({value, p->begin - places_[at(input.value)]->begin});
        }
      }
    };
    for (size_t s = 0; s < plan_.steps.size(); ++s) {
      for (const Use& use : uses_[s]) {
        if (use.access != Access::Write) {
          read(use.value, use.access == Access::ReadWrite);
        }
      }
      for (const Use& use : uses_[s]) {
        const Place* p = place(use.value);
        // A delegate's argument may be its output.
        if (p != nullptr && (use.access == Access::Write || use.access == Access::ReadIfWritten) &&
            is_input_[at(use.value)] < 0) {
          put(*p, -1);
        }
      }
    }
    for (const int32_t output : plan_.outputs) {
      each_tensor(output, [&](int32_t v) { read(v, false); });
    }
  }

  // With jumps the last writer isn't known: an input is copied if anything that nothing writes lies there.
  void copy_viewed_inputs(const std::set<int32_t>& ever_written) {
    for (InputPlan& input : plan_.inputs) {
      const Place* mine = place(input.value);
      for (size_t i = 0; mine != nullptr && i < places_.size(); ++i) {
        const auto v = static_cast<int32_t>(i);
        if (places_[i].has_value() && v != input.value && places_[i]->overlaps(*mine) && ever_written.count(v) == 0) {
          input.copied = true;
        }
      }
    }
  }

  Plan& plan_;
  const flatbuffers::Vector<flatbuffers::Offset<fb::EValue>>& values_;
  std::vector<std::optional<Place>> places_;
  std::vector<int32_t> is_input_;       // the value's place among the inputs, or -1
  std::vector<std::vector<Use>> uses_;  // by step
  std::set<int32_t> replaced_;
  std::vector<std::pair<int32_t, int32_t>> shares_;  // from, to: `to` may come to share `from`'s memory
  bool straight_ = true;
  std::vector<int32_t> state_values_;
  std::set<int32_t> written_constants_;
};

}  // namespace

void find_memory_flow(Plan& plan) { MemoryFlow(plan).run(); }

}  // namespace etrt
