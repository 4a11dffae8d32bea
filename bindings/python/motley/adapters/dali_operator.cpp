/* SPDX-License-Identifier: Apache-2.0 */
/* fn.motley.augment, an operator of NVIDIA DALI in C++: prepared calls on DALI's own buffers, threads and stream.
 *
 * DALI promises no binary interface between its releases, so this is compiled against the release that loads it. */
#include <dali/core/static_switch.h>
#include <dali/pipeline/operator/checkpointing/op_checkpoint.h>
#include <dali/pipeline/operator/error_reporting.h>
#include <dali/pipeline/operator/operator.h>
#include <motley.h>

#include <algorithm>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

namespace motley
{

using dali::CPUBackend;
using dali::GPUBackend;
using dali::make_string;
using dali::TensorList;
using dali::Workspace;

template <auto destroy> struct Destroy {
    template <typename T> void operator()(T *object) const
    {
        destroy(object);
    }
};
using Policy = std::unique_ptr<motley_policy, Destroy<motley_policy_destroy>>;
using Transform = std::unique_ptr<motley_policy, Destroy<motley_policy_destroy>>;
using Context = std::unique_ptr<motley_context, Destroy<motley_context_destroy>>;

/* A context, and the call for the last batch of one size that it met. */
struct Worker {
    Context context;
    std::unique_ptr<motley_call, Destroy<motley_call_destroy>> call;
    motley_batch shape = {};
};

/* Motley's sentence as the DALI exception that becomes Python's ValueError or RuntimeError. */
void check(motley_status status, const motley_error &error, std::string place = "")
{
    if (status == MOTLEY_OK)
        return;
    if (error.line)
        place = make_string("<policy>:", error.line, ":", error.column, ": error: ");
    if (status == MOTLEY_ERR_ARGUMENT || status == MOTLEY_ERR_POLICY)
        throw dali::DaliValueError(place + error.message);
    throw dali::DaliRuntimeError(place + error.message);
}

Policy policy_of(const std::string &policy)
{
    motley_policy *made = nullptr;
    motley_error error;
    check(motley_policy_open(policy.c_str(), nullptr, &made, &error), error);
    return Policy(made);
}

Transform transform_of(const std::string &transform)
{
    motley_policy *made = nullptr;
    motley_error error;
    check(motley_policy_open(transform.c_str(), nullptr, &made, &error), error);
    return Transform(made);
}

Context context_of(motley_backend backend, int device)
{
    motley_context_params params = {};
    params.backend = backend;
    params.device = device;
    params.threads = 1; /* of a CPU context: DALI's own threads run it */
    motley_context *made = nullptr;
    motley_error error;
    check(motley_context_create(&params, &made, &error), error);
    return Context(made);
}

/* The whole number that each sample has in `list`. */
std::vector<uint64_t> numbers_of(const char *name, const TensorList<CPUBackend> &list)
{
    std::vector<uint64_t> numbers(list.num_samples());
    for (int i = 0; i < list.num_samples(); i++) {
        const int64_t found = list.tensor_shape(i).num_elements();
        if (found != 1)
            throw dali::DaliValueError(make_string(name, " of sample ", i, " has ", found, " numbers, want one"));
        TYPE_SWITCH(
            list.type(), dali::type2id, T, (DALI_INTEGRAL_TYPES),
            (numbers[i] = static_cast<uint64_t>(*list.tensor<T>(i));),
            (throw dali::DaliTypeError(make_string(name, " is of type ", list.type(), ", want whole numbers"));))
    }
    return numbers;
}

/* The number that each sample has in the argument `levels`. */
std::vector<float> levels_of(const TensorList<CPUBackend> &list)
{
    std::vector<float> levels(list.num_samples());
    for (int i = 0; i < list.num_samples(); i++) {
        const int64_t found = list.tensor_shape(i).num_elements();
        if (found != 1)
            throw dali::DaliValueError(make_string("levels of sample ", i, " has ", found, " numbers, want one"));
        levels[i] = *list.tensor<float>(i);
    }
    return levels;
}

template <typename Backend> class Augment : public dali::Operator<Backend>
{
  public:
    static constexpr bool on_cpu = std::is_same_v<Backend, CPUBackend>;

    explicit Augment(const dali::OpSpec &spec)
        : dali::Operator<Backend>(spec), seed_(static_cast<uint64_t>(spec.GetArgument<int64_t>("seed"))),
          view_(spec.GetArgument<int>("view"))
    {
        if (!on_cpu && (spec.HasArgument("levels") || spec.HasTensorArgument("levels")))
            throw dali::DaliValueError("levels is set, and the images are on a GPU: want the images on the CPU");
        if (spec.HasArgument("policy") == spec.HasArgument("transform"))
            throw dali::DaliValueError("want one of policy and transform");
        if (spec.HasArgument("policy"))
            policy_ = policy_of(spec.GetArgument<std::string>("policy"));
        else
            take(transform_of(spec.GetArgument<std::string>("transform")), spec);
        const int device = on_cpu ? 0 : spec.GetArgument<int>("device_id");
        for (int i = 0; i < (on_cpu ? this->num_threads_ : 1); i++)
            workers_.push_back({ context_of(on_cpu ? MOTLEY_BACKEND_CPU : MOTLEY_BACKEND_CUDA, device), nullptr, {} });
    }

    bool SetupImpl(std::vector<dali::OutputDesc> &outputs, const Workspace &ws) override
    {
        if (ws.GetInputDataType(0) != DALI_UINT8)
            throw dali::DaliTypeError(make_string("the images are of type ", ws.GetInputDataType(0), ", want uint8"));
        auto shape = ws.GetInputShape(0);
        for (int i = 0; transform_ && i < shape.num_samples(); i++) {
            const int64_t height = info_.height ? info_.height : shape[i][0];
            const int64_t width = info_.width ? info_.width : shape[i][1];
            const int64_t channels = info_.to_rgb ? 3 : shape[i][2];
            shape.set_tensor_shape(i, layout_ == "CHW" ? dali::TensorShape<>{ channels, height, width }
                                                       : dali::TensorShape<>{ height, width, channels });
        }
        outputs = { { shape, type_ } };
        return true;
    }

    void RunImpl(Workspace &ws) override
    {
        const auto &src = ws.Input<Backend>(0);
        auto &dst = ws.Output<Backend>(0);
        dst.SetLayout(layout_);
        const int count = src.num_samples();

        ids_.resize(count);
        if (ws.NumInput() > 1)
            ids_ = numbers_of("ids", ws.Input<CPUBackend>(1));
        else
            std::generate(ids_.begin(), ids_.end(), [this] { return next_sample_++; });
        if (this->spec_.HasTensorArgument("epoch"))
            epochs_ = numbers_of("epoch", ws.ArgumentInput("epoch"));
        else
            epochs_.assign(count, this->spec_.template GetArgument<int>("epoch"));
        if (this->spec_.HasTensorArgument("levels"))
            levels_ = levels_of(ws.ArgumentInput("levels"));
        else if (this->spec_.HasArgument("levels"))
            levels_.assign(count, this->spec_.template GetArgument<float>("levels"));
        src_.resize(count);
        dst_.resize(count);
        for (int i = 0; i < count; i++) {
            const auto &shape = src.tensor_shape(i);
            if (shape[0] < 1 || shape[1] < 1)
                throw dali::DaliValueError(
                    make_string("sample ", i, " is ", shape[1], "x", shape[0], " pixels, want at least one each way"));
            src_[i] = image_of(const_cast<void *>(src.raw_tensor(i)), shape, "HWC", 1);
            dst_[i] = image_of(dst.raw_mutable_tensor(i), dst.tensor_shape(i), layout_,
                               dali::TypeTable::GetTypeInfo(type_).size());
        }
        dense_ = src.IsDenseTensor() && dst.IsDenseTensor();
        dense_output_ = dst.IsDenseTensor();

        const auto channels = [&src](int i) { return static_cast<int32_t>(src.tensor_shape(i)[2]); };
        if constexpr (on_cpu) {
            auto &threads = ws.GetThreadPool();
            for (int i = 0; i < count; i++)
                threads.AddWork([=](int t) { apply(workers_[t], i, i + 1, channels(i), nullptr); },
                                src.tensor_shape(i).num_elements());
            threads.RunAll();
        } else {
            /* A call has one epoch and one number of channels; nearly always that is one call. */
            for (int begin = 0, end; begin < count; begin = end) {
                for (end = begin + 1; end < count && epochs_[end] == epochs_[begin]; end++)
                    if (channels(end) != channels(begin))
                        break;
                apply(workers_[0], begin, end, channels(begin), ws.stream());
            }
        }
    }

    /* What a checkpoint of the pipeline keeps: the samples counted so far. */
    void SaveState(dali::OpCheckpoint &checkpoint, dali::AccessOrder) override
    {
        checkpoint.MutableCheckpointState() = next_sample_;
    }

    void RestoreState(const dali::OpCheckpoint &checkpoint) override
    {
        next_sample_ = checkpoint.CheckpointState<uint64_t>();
    }

    std::string SerializeCheckpoint(const dali::OpCheckpoint &checkpoint) const override
    {
        return std::to_string(checkpoint.CheckpointState<uint64_t>());
    }

    void DeserializeCheckpoint(dali::OpCheckpoint &checkpoint, const std::string &data) const override
    {
        checkpoint.MutableCheckpointState() = static_cast<uint64_t>(std::stoull(data));
    }

  private:
    /* What comes out of a transform: as its text says, or the arguments dtype and output_layout. */
    void take(Transform transform, const dali::OpSpec &spec)
    {
        transform_ = std::move(transform);
        info_ = *motley_policy_describe(transform_.get());
        if (info_.mix)
            throw dali::DaliValueError(
                make_string("transform '", info_.name, "' mixes images, and has no labels here"));
        layout_ = info_.layout == MOTLEY_CHW ? "CHW" : "HWC";
        type_ = info_.dtype == MOTLEY_U8    ? DALI_UINT8
                : info_.dtype == MOTLEY_F32 ? DALI_FLOAT
                : info_.dtype == MOTLEY_F16 ? DALI_FLOAT16
                                            : DALI_NO_TYPE;
        if (spec.HasArgument("output_layout"))
            layout_ = spec.GetArgument<dali::TensorLayout>("output_layout");
        if (spec.HasArgument("dtype"))
            type_ = spec.GetArgument<dali::DALIDataType>("dtype");
        if (layout_ != "HWC" && layout_ != "CHW")
            throw dali::DaliValueError(make_string("output_layout is ", layout_, ", want HWC or CHW"));
        if (type_ != DALI_UINT8 && type_ != DALI_FLOAT && type_ != DALI_FLOAT16)
            throw dali::DaliValueError(
                make_string("transform '", info_.name, "' would make ", type_, ", want uint8, float or float16"));
    }

    static motley_image image_of(void *data, const dali::TensorShape<> &shape, const dali::TensorLayout &layout,
                                 int64_t bytes)
    {
        /* Past the library's limit either way: it says so. */
        const auto side = [](int64_t n) { return static_cast<int32_t>(std::min<int64_t>(n, INT32_MAX)); };
        if (layout == "CHW")
            return { data, side(shape[2]), side(shape[1]), shape[2] * bytes, bytes, shape[1] * shape[2] * bytes };
        return { data, side(shape[1]), side(shape[0]), shape[1] * shape[2] * bytes, shape[2] * bytes, bytes };
    }

    /* The call for images of one size; most batches have the size of the one before. */
    motley_call *call_of(Worker &worker, const motley_batch &shape) const
    {
        const motley_batch &last = worker.shape;
        if (!worker.call || last.count != shape.count || last.channels != shape.channels || last.width != shape.width ||
            last.height != shape.height) {
            const motley_batch dst = shape;
            motley_call *made = nullptr;
            motley_error error;
            motley_call_params what = {};
            what.policy = policy_.get();
            check(motley_call_create(worker.context.get(), &shape, &dst, &what, &made, &error), error);
            worker.call.reset(made);
            worker.shape = shape;
        }
        return worker.call.get();
    }

    /* Images begin .. end - 1, which have one epoch and one number of channels. */
    void apply(Worker &worker, int begin, int end, int32_t channels, void *stream) const
    {
        if (epochs_[begin] > UINT32_MAX)
            throw dali::DaliValueError(
                make_string("epoch is ", static_cast<int64_t>(epochs_[begin]), ", want 0 to 2^30 - 1"));
        motley_samples samples = {};
        samples.seed = seed_;
        samples.epoch = static_cast<uint32_t>(epochs_[begin]);
        samples.ids = &ids_[begin];
        samples.view = static_cast<uint32_t>(view_);
        samples.levels = levels_.empty() ? nullptr : &levels_[begin];
        motley_batch src = {};
        src.count = end - begin;
        src.channels = channels;
        if (transform_)
            return transform(worker, begin, end, src, samples, stream);
        motley_batch dst = src;
        motley_apply_params params = {};
        params.samples = samples;
        params.stream = stream;
        motley_error error;
        motley_status status;
        if (dense_) {
            src.width = src_[begin].width;
            src.height = src_[begin].height;
            status =
                motley_call_run(call_of(worker, src), src_[begin].data, dst_[begin].data, nullptr, &params, &error);
        } else {
            src.images = &src_[begin];
            dst.images = &dst_[begin];
            status = motley_apply(worker.context.get(), policy_.get(), &src, &dst, &params, &error);
        }
        check(status, error, place_of(begin, end));
    }

    static std::string place_of(int begin, int end)
    {
        return begin > 0 || end == begin + 1 ? make_string("from sample ", begin, " on: ") : "";
    }

    /* The same by a transform: from images of any sizes, to one block of memory where they come out in one size. */
    void transform(Worker &worker, int begin, int end, motley_batch src, const motley_samples &samples,
                   void *stream) const
    {
        motley_apply_params params = {};
        params.samples = samples;
        params.stream = stream;
        motley_batch dst = src;
        dst.channels = info_.to_rgb ? 3 : src.channels;
        src.images = &src_[begin];
        dst.dtype = type_ == DALI_UINT8 ? MOTLEY_U8 : type_ == DALI_FLOAT ? MOTLEY_F32 : MOTLEY_F16;
        const motley_image &first = dst_[begin];
        if (dense_output_) {
            dst.data = first.data;
            dst.width = first.width;
            dst.height = first.height;
            dst.row_stride = first.row_stride;
            dst.pixel_stride = first.pixel_stride;
            dst.channel_stride = first.channel_stride;
            if (end - begin > 1)
                dst.image_stride = static_cast<char *>(dst_[begin + 1].data) - static_cast<char *>(first.data);
        } else {
            dst.images = &first;
        }
        motley_error error;
        const motley_status status = motley_apply(worker.context.get(), transform_.get(), &src, &dst, &params, &error);
        check(status, error, place_of(begin, end));
    }

    Policy policy_; /* this, or a transform and what it makes */
    Transform transform_;
    motley_policy_info info_ = {};
    dali::TensorLayout layout_ = "HWC";
    dali::DALIDataType type_ = DALI_UINT8;
    uint64_t seed_;
    int view_;
    std::vector<Worker> workers_; /* one for each of DALI's threads; one on a GPU */
    uint64_t next_sample_ = 0;    /* of batches without ids */
    std::vector<uint64_t> ids_, epochs_;
    std::vector<float> levels_; /* empty: none are given */
    std::vector<motley_image> src_, dst_;
    bool dense_ = false;        /* images of one size, one after another: described as one array */
    bool dense_output_ = false; /* the same of what is written alone */
};

} // namespace motley

/* DALI's macros want to stand in its namespace. */
namespace dali
{

DALI_SCHEMA(motley__Augment)
    .DocStr("Augments each image of a batch with its own draw; the results are Pillow's bytes.\n\n"
            "A draw depends on the policy or transform, the seed, the epoch and the sample's id, and on nothing else.")
    .NumInput(1, 2)
    .NumOutput(1)
    .InputDox(0, "images", "TensorList (HWC)", "Images of uint8, of 1 to 4 channels and any sizes.")
    .InputDox(1, "ids", "TensorList", "A whole number for each sample. Without, samples are counted.")
    .InputLayout(0, "HWC")
    .InputDevice(1, InputDevice::CPU)
    .AddOptionalArg<std::string>("policy", "The name of a built-in policy, the path of a file, or a policy's text.", "")
    .AddOptionalArg<std::string>("transform",
                                 "In place of a policy: a whole transform, likewise. What comes out has its size.", "")
    .AddOptionalTypeArg("dtype", "Of a transform's output, if not as its text says.", DALI_UINT8)
    .AddOptionalArg<TensorLayout>("output_layout", "HWC or CHW, likewise.", TensorLayout(""))
    .AddOptionalArg<int>("epoch", "Of the draws. One for each sample, or one for all.", 0, true)
    .AddOptionalArg<int>("view", "Which of several draws of a sample, from 0.", 0)
    .AddOptionalArg<float>("levels", "Of a policy with given levels, on the CPU: 0 to 1, as the epoch.", 0.0f, true)
    .AddRandomSeedArg();

DALI_REGISTER_OPERATOR(motley__Augment, motley::Augment<CPUBackend>, CPU);
DALI_REGISTER_OPERATOR(motley__Augment, motley::Augment<GPUBackend>, GPU);

} // namespace dali
